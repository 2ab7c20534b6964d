package client

import (
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

// The session's part of finding out whether lost objects still have copies: see
// verifycopy.go of package refs.

// verifyCopy asks whether an object of ours that was reported lost still has a copy; mu held.
func (c *Client) verifyCopy(o *refs.Object) { c.table.VerifyCopy(o) }

// missed notes that the store has no copy of an object that was ready; mu held.
func (c *Client) missed(o *refs.Object) { c.table.Missed(o) }

// Check implements refs.Effects.
func (h *host) Check(list []*refs.Object) bool {
	c := (*Client)(h)
	if c.closed {
		return false
	}
	c.daemon.Go(wire.TObjCheck, wire.ObjRefs{ObjectIDs: rawOf(list)}, func(m *wire.Message, err error) {
		var lacks wire.ObjRefs
		if err == nil {
			err = m.Decode(&lacks)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.closed {
			return
		}
		c.table.Checked(list, lacks.ObjectIDs, err)
		c.poller.Arm() // calls may have been sent
	})
	return true
}

// Siblings implements refs.Effects.
func (h *host) Siblings(o *refs.Object) (list []*refs.Object) {
	c := (*Client)(h)
	t := c.yieldingOf(o)
	if o.Recomputable() {
		t = taskOf(o.Recipe().Task())
	}
	if t != nil {
		c.eachResult(t, func(x *refs.Object) { list = append(list, x) })
	}
	return list
}

// Recompute implements refs.Effects.
func (h *host) Recompute(o *refs.Object) { (*Client)(h).recompute(o) }
