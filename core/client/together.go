package client

import (
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

// The values of a list that lie in the arena are pinned together: one question
// to the daemon for thousands instead of one for each. Until the program takes
// them they stay pinned as the table's alone, which it gives back when somebody
// needs the room. What is on disk or being written is none of it: that is asked
// for when it is taken, see readahead.go.

const (
	togetherMax   = 2000 // objects in a question
	togetherShare = 2    // one of so many bytes of the arena, for a list
)

// pinTogether pins what it can of ready objects; mu held on entry and exit,
// released while the daemon is asked.
func (c *Client) pinTogether(objs []*refs.Object, deadline time.Time) {
	var list []*refs.Object
	room := c.arena.Size() / togetherShare
	for _, o := range objs {
		if !far(o) || c.mapped[o.ID] != nil || c.pinnings[o.ID] != nil {
			continue
		}
		if o.Size() > room {
			break
		}
		room -= o.Size()
		if len(list) == 0 {
			list = make([]*refs.Object, 0, min(len(objs), 1<<12))
		}
		list = append(list, o)
		c.begins(o)
	}
	if len(list) == 0 {
		return
	}
	var asked []chan struct{}
	for len(list) > 0 {
		part := list[:min(len(list), togetherMax)]
		list = list[len(part):]
		asked = append(asked, c.askTogether(part))
	}
	limit := time.NewTimer(patience(deadline))
	defer limit.Stop()
	c.mu.Unlock()
	defer c.mu.Lock()
	for _, done := range asked {
		select {
		case <-done:
		case <-limit.C:
			return // they come all the same
		}
	}
}

// begins notes that a place is being asked for; mu held.
func (c *Client) begins(o *refs.Object) {
	if c.pinnings == nil {
		c.pinnings = make(map[ids.Object]*pinning)
	}
	c.pinnings[o.ID] = &pinning{done: make(chan struct{}), ahead: true}
}

// askTogether asks for the places of objects whose pinnings have begun; mu held.
func (c *Client) askTogether(part []*refs.Object) chan struct{} {
	done := make(chan struct{})
	asked := make([]ids.Object, len(part))
	raws := make([][]byte, len(part))
	waits := make([]*pinning, len(part))
	for i, o := range part {
		asked[i], waits[i] = o.ID, c.pinnings[o.ID]
		raws[i] = asked[i][:]
	}
	c.daemon.Go(wire.TObjPins, wire.ObjRefs{ObjectIDs: raws}, func(m *wire.Message, err error) {
		var r wire.ObjPlaces
		if err == nil {
			err = m.Decode(&r)
		}
		if err != nil || len(r.Offsets) != len(r.Which) || len(r.Sizes) != len(r.Which) {
			r = wire.ObjPlaces{}
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		defer close(done)
		for k, i := range r.Which {
			if int(i) < len(waits) && waits[i] != nil {
				c.settlePlace(asked[i], waits[i], wire.ObjPlace{Offset: r.Offsets[k], Size: r.Sizes[k]}, nil, true, nil)
				waits[i] = nil
			}
		}
		for i, p := range waits {
			switch {
			case p == nil:
			case p.users > 0: // somebody has come for it meanwhile
				c.askAlone(asked[i], p)
			default:
				delete(c.pinnings, asked[i])
			}
		}
	})
	return done
}
