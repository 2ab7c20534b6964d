package client

import (
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// The session's part of finding out whether lost objects still have copies: see
// verifycopy.go of package refs.

// Check implements refs.Effects.
func (h *host) Check(list []*refs.Object) bool {
	c := (*Client)(h)
	if c.Closed() {
		return false
	}
	c.daemon.Go(wire.TObjCheck, wire.ObjRefs{ObjectIDs: rawOf(list)}, func(m *wire.Message, err error) {
		var lacks wire.ObjMissing
		if err == nil {
			err = m.Decode(&lacks)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.Closed() {
			return
		}
		c.table.LostWith(lacks.ObjectIDs, lacks.With)
		c.table.Checked(list, lacks.ObjectIDs, err)
		c.table.LostWith(nil, nil)
		c.poller.Arm() // calls may have been sent
	})
	return true
}

// Siblings implements refs.Effects.
func (h *host) Siblings(o *refs.Object) []*refs.Object { return h.submit.Siblings(o) }

// Recompute implements refs.Effects.
func (h *host) Recompute(o *refs.Object) { (*Client)(h).submit.Recompute(o) }

// rawOf returns the ids of objects as a message has them.
func rawOf(list []*refs.Object) (out [][]byte) {
	for _, o := range list {
		out = append(out, o.ID.Raw())
	}
	return out
}
