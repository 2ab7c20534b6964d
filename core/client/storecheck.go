package client

import (
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/localstore"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/transport"
)

// A wait for objects to be here must not be told that an object is ready when the
// store has lost it: a get would have to wait for that object.

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
		if localstore.MustFetch(o) {
			list = append(list, o)
		}
	}
	lost := false
	for len(list) > 0 && !c.closed {
		part := list[:min(len(list), transport.MaxBatch)]
		list = list[len(part):]
		q := c.local.AskCheck(part)
		if !c.pause(q.Done(), nil, time.Now().Add(patience(deadline))) {
			break
		}
		lacks, err := q.Lacks()
		if err != nil {
			break
		}
		for _, raw := range lacks {
			if id, err := ids.ParseObject(raw); err == nil {
				if o := c.table.Find(id); o != nil && localstore.MustFetch(o) {
					c.missed(o)
					lost = lost || !o.State().Ready()
				}
			}
		}
	}
	return lost
}
