package client

import (
	"slices"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/transport"
	"github.com/eagleray/eagleray/core/wire"
)

// How a lost object comes back. Somebody has found no copy of it in the store:
// this process, a borrower, or a worker that was to take it. Its owner makes it
// Pending, together with the other stored results of its task, so whoever wants
// one of them waits. The owner asks the daemon which of them it has. For those
// that the daemon does not have the task runs again, and writes only these. What
// that task takes is verified first. So a chain is followed back to where it is
// whole, with one question for each of its links, and no worker waits meanwhile.

// verifyCopy asks whether an object of ours that was reported lost still has a
// copy. Of an evicted object it asks, too: then its task runs again. Mu is held.
func (c *Client) verifyCopy(o *refs.Object) {
	if o.State() != refs.Stored && o.State() != refs.Evicted {
		return
	}
	c.unverified(o)
	t := c.yieldingOf(o)
	if o.Recomputable() {
		t = taskOf(o.Recipe().Task())
	}
	if t != nil {
		c.eachResult(t, func(x *refs.Object) {
			if x.State() == refs.Stored {
				c.unverified(x)
			}
		})
	}
	c.askUnverified()
}

// unverified makes an object one of those that the daemon is to be asked about; mu is held.
func (c *Client) unverified(o *refs.Object) {
	c.table.Verify(o)
	c.lineage.unverified = append(c.lineage.unverified, o)
}

// askUnverified asks the daemon which copies it has, unless a question is under
// way. By then the daemon has heard of everything that was freed before, so it
// does not answer about a copy that is written later. Mu is held.
func (c *Client) askUnverified() {
	l := &c.lineage
	if l.asking || len(l.unverified) == 0 || c.closed {
		return
	}
	list := l.unverified
	l.unverified, l.asking = nil, true
	if len(list) > transport.MaxBatch {
		l.unverified = slices.Clone(list[transport.MaxBatch:])
		list = list[:transport.MaxBatch]
	}
	c.daemon.Go(wire.TObjCheck, wire.ObjRefs{ObjectIDs: rawOf(list)}, func(m *wire.Message, err error) {
		var lacks wire.ObjRefs
		if err == nil {
			err = m.Decode(&lacks)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		l.asking = false
		if c.closed {
			return
		}
		c.checked(list, lacks.ObjectIDs, err)
		c.askUnverified()
		c.carryOut()
		c.poller.Arm() // calls may have been sent
	})
}

// checked takes the daemon's answer: which of the listed objects it does not have. Mu is held.
func (c *Client) checked(list []*refs.Object, lacks [][]byte, err error) {
	missing := make(map[ids.Object]bool, len(lacks))
	for _, raw := range lacks {
		if id, e := ids.ParseObject(raw); e == nil {
			missing[id] = true
		}
	}
	var lost []*refs.Object
	for _, o := range list {
		switch {
		case c.table.Find(o.ID) != o || !o.Verifying():
		case missing[o.ID]:
			lost = append(lost, o)
		case err != nil:
			c.table.Fail(o, fault.From(err))
		default:
			c.table.Verified(o)
		}
	}
	for _, o := range lost {
		c.valueFreed(o.ID) // of the copy that was
	}
	for _, o := range lost {
		if o.Verifying() {
			c.recompute(o)
		}
	}
}
