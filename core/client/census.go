package client

import (
	"bytes"
	"os"
	"slices"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

// maxLooked bounds how many objects are looked at while everybody else waits.
const maxLooked = 200_000

// tally answers what this process holds; it runs on the daemon connection's goroutine.
func (c *Client) tally(q *wire.CensusAsk) *wire.ProcessCensus {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &wire.ProcessCensus{Pid: os.Getpid(), Role: c.opts.Role, WorkerID: bytes.Clone(c.info.Worker[:]), JobID: c.info.Job[:]}
	if c.exec != nil {
		if actor := c.exec.ActorID(); actor != (ids.Actor{}) {
			t.ActorID = actor[:]
		}
	}
	t.Owned, t.Borrows = c.table.Len()
	if q.Objects {
		c.tallyObjects(t, q.Limit)
	}
	if q.Tasks {
		c.tallyTasks(t, q.Limit)
	}
	return t
}

func (c *Client) tallyObjects(t *wire.ProcessCensus, limit int) {
	captured, replies := map[*refs.Object]int{}, map[*refs.Object]int{}
	var largest []*refs.Object
	var cut *refs.Object // what comes behind it is not among the largest
	c.table.Each(func(o *refs.Object) bool {
		t.Looked++
		if o.Owned() {
			t.Bytes += o.Size()
		}
		for _, in := range o.Contained() {
			captured[in]++
		}
		if cut != nil && !before(o, cut) {
			return t.Looked < maxLooked
		}
		if largest = append(largest, o); len(largest) >= 2*limit+1000 { // not all are sorted: that takes long
			sortObjects(largest)
			largest = largest[:limit]
			if limit > 0 {
				cut = largest[limit-1]
			}
		}
		return t.Looked < maxLooked
	})
	c.table.EachUnconfirmed(func(_ ids.Owner, _ ids.Task, list []*refs.Object) {
		for _, o := range list {
			replies[o]++
		}
	})
	sortObjects(largest)
	for _, o := range largest[:min(limit, len(largest))] {
		t.Objects = append(t.Objects, c.heldRow(o, captured[o], replies[o]))
	}
}

func sortObjects(list []*refs.Object) {
	slices.SortFunc(list, func(a, b *refs.Object) int {
		switch {
		case before(a, b):
			return -1
		case before(b, a):
			return 1
		}
		return 0
	})
}

// before puts the larger first, then the older.
func before(a, b *refs.Object) bool {
	if a.Size() != b.Size() {
		return a.Size() > b.Size()
	}
	return a.ID.Count() < b.ID.Count()
}

func (c *Client) heldRow(o *refs.Object, captured, replies int) wire.Held {
	h := wire.Held{
		ObjectID: raw(o.ID), Owned: o.Owned(), State: stateName(o.State()), Size: int64(o.Size()),
		Local: int(o.Local()), Lineage: int(o.Lineage()), Tasks: int(o.Pins()) - captured - replies, Captured: captured, Replies: replies,
		Site: c.siteOf(o), Maker: c.makerOf(o),
	}
	if !o.State().Ready() || o.State() == refs.Failed {
		h.Size = -1
	}
	if x := o.Copy(); x != nil {
		h.Viewed = x.InUse()
	}
	for _, p := range o.HeldBy() {
		h.Borrowers = append(h.Borrowers, bytes.Clone(p[:]))
	}
	if a := actorOf(o); a != nil {
		h.ActorID, h.Maker = bytes.Clone(a.id[:]), a.name
	}
	if p := taskOf(o.Source()); p != nil && !o.State().Ready() {
		h.TaskState, h.Attempt = c.taskState(p), int(p.tries)
	}
	return h
}

func stateName(s refs.State) string {
	switch s {
	case refs.Pending:
		return "pending"
	case refs.Infeasible:
		return "infeasible"
	case refs.Evicted:
		return "evicted"
	case refs.Inline:
		return "inline"
	case refs.Stored:
		return "stored"
	}
	return "failed"
}

// taskState says where an unfinished task is, as its owner sees it; mu held.
func (c *Client) taskState(t *task) string {
	switch {
	case t.on != nil:
		return wire.TaskSubmitted
	case t.waiting > 0:
		return wire.TaskWaitsForArguments
	case t.actor != nil:
		return wire.TaskWaitsForActor
	}
	return wire.TaskWaitsForNode
}

func (c *Client) tallyTasks(t *wire.ProcessCensus, limit int) {
	t.Open = c.unfinished
	seen := map[*task]bool{}
	add := func(x *task) bool {
		if len(t.Tasks) >= limit {
			return false
		}
		if x.counted && !seen[x] {
			seen[x] = true
			t.Tasks = append(t.Tasks, c.taskRow(x))
		}
		return true
	}
	for _, l := range c.leases {
		if l.conn != nil {
			addAll(&l.conn.sent, add)
		}
	}
	for _, a := range c.actors {
		if a.conn != nil {
			addAll(&a.conn.sent, add)
		}
		for _, x := range a.queue.items[a.queue.head:] {
			if !add(x) {
				break
			}
		}
	}
	for _, k := range c.classes {
		for _, x := range k.queue.items[k.queue.head:] {
			if !add(x) {
				break
			}
		}
	}
	n := 0
	c.table.Each(func(o *refs.Object) bool { // those that wait for arguments are in no queue
		n++
		x := taskOf(o.Source())
		return n < maxLooked && (x == nil || o.State().Ready() || add(x))
	})
	if c.exec != nil {
		c.exec.AddRuns(t, limit)
	}
	c.countEnded(t, limit)
}

func addAll(sent *outstanding, add func(*task) bool) {
	for x := range sent.all() {
		if !add(x) {
			return
		}
	}
}

func (c *Client) taskRow(t *task) wire.TaskRow {
	id := t.id(&c.submitter)
	r := wire.TaskRow{
		TaskID: bytes.Clone(id[:]), Name: t.tmpl.Name, Method: t.tmpl.Kind == KindMethod, State: c.taskState(t), Attempt: int(t.tries), Resources: t.tmpl.Resources,
	}
	if t.actor != nil {
		r.ActorID = bytes.Clone(t.actor.id[:])
	}
	if t.on != nil && t.on.lease != nil {
		r.LeaseID = t.on.lease.id
	}
	c.eachReturn(t, func(i int, o *refs.Object) {
		if r.Site == "" {
			r.Site = c.siteOf(o)
		}
	})
	return r
}
