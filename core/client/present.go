package client

import (
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/transport"
	"github.com/eagleray/eagleray/core/wire"
)

// Who waits for objects to be here must not be told so of one that the store
// has lost, which a get would have to wait for.

// anyLost asks the store whether it has the first need of the objects that are
// ready and that nobody here looks at. Those that it has not are computed
// again; true: there were some. A store that has not answered after a moment,
// or after the deadline if that is later, is taken to have all. Mu held on
// entry and exit, released while asking.
func (c *Client) anyLost(objs []*refs.Object, need int, deadline time.Time) bool {
	var list []*refs.Object
	for _, o := range objs {
		if need <= 0 {
			break
		}
		if !o.State().Ready() {
			continue
		}
		need--
		if far(o) {
			list = append(list, o)
		}
	}
	lost := false
	for len(list) > 0 && !c.closed {
		part := list[:min(len(list), transport.MaxBatch)]
		list = list[len(part):]
		lacks, ok := c.lacks(part, deadline)
		if !ok {
			break
		}
		for _, raw := range lacks {
			if id, err := ids.ParseObject(raw); err == nil {
				if o := c.table.Find(id); o != nil && far(o) {
					c.missed(o)
					lost = lost || !o.State().Ready()
				}
			}
		}
	}
	return lost
}

// lacks asks which of the objects the store has not; mu as in anyLost.
func (c *Client) lacks(list []*refs.Object, deadline time.Time) (lacks [][]byte, ok bool) {
	answer := make(chan [][]byte, 1)
	c.daemon.Go(wire.TObjCheck, wire.ObjRefs{ObjectIDs: rawOf(list)}, func(m *wire.Message, err error) {
		var got wire.ObjRefs
		if err == nil && m.Decode(&got) == nil {
			answer <- got.ObjectIDs
		}
		close(answer)
	})
	limit := time.NewTimer(patience(deadline))
	defer limit.Stop()
	c.mu.Unlock()
	defer c.mu.Lock()
	select {
	case lacks, ok = <-answer:
	case <-limit.C:
	}
	return lacks, ok
}

// patience is how long who has a deadline, or none, waits for a list's answer.
func patience(deadline time.Time) time.Duration {
	if deadline.IsZero() {
		return lookFor
	}
	return max(lookFor, time.Until(deadline))
}
