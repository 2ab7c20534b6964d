package client

import (
	"slices"
	"sort"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/transport"
	"github.com/eagleray/eagleray/core/wire"
)

// inventory is the state of writing a will down.
type inventory struct {
	c         *Client
	w         *will
	tasks     map[*task]int
	templates map[*Template]int
	serves    map[ids.Owner]bool // borrowers with a connection
}

// inventory writes table, tasks and task sockets down; mu held.
func (c *Client) inventory(w *will, fds []int, served []transport.DetachedPeer) []int {
	v := &inventory{c: c, w: w, tasks: map[*task]int{}, templates: map[*Template]int{}, serves: map[ids.Owner]bool{}}
	inside := map[*Template]bool{}
	all := c.templates()
	for _, t := range all {
		for _, o := range t.Fallback {
			inside[o] = true
		}
		t.Number = t.id
	}
	for _, t := range all {
		if inside[t] {
			continue
		}
		v.templates[t] = len(w.Templates)
		x := *t
		if t.class != nil {
			x.ClassID = t.class.id
		}
		x.Blob, x.class = nil, nil // until a task needs it
		w.Templates = append(w.Templates, x)
	}
	waiting := map[*task]bool{}
	asks := map[*wire.Peer]*willServing{}
	for i := range served {
		asks[served[i].Peer] = &w.Serving[i]
		v.serves[ids.Owner(w.Serving[i].Owner)] = true
	}
	v.references()
	c.table.Each(func(o *refs.Object) bool {
		for _, x := range o.Tasks() {
			t := taskOf(x)
			waiting[t] = t.counted && (t.actor == nil || t.aside)
		}
		for _, m := range slices.Concat(o.Questions(), o.PatientQuestions()) {
			if s := asks[m.Peer()]; s != nil {
				s.Questions = append(s.Questions, willQuestion{raw(o.ID), m.ID})
			}
		}
		return true
	})
	for _, k := range c.classes {
		for k.queue.len() > 0 {
			v.task(k.queue.pop(), taskWaits)
		}
	}
	var late []*task
	for t, ok := range waiting {
		if _, known := v.tasks[t]; ok && !known {
			late = append(late, t)
		}
	}
	sort.Slice(late, func(i, j int) bool { return late[i].first < late[j].first })
	for _, t := range late {
		v.task(t, taskWaits)
	}
	for _, t := range c.delayedTasks() {
		v.task(t, taskWaits) // the heir tries it at once
	}
	for _, l := range c.leases {
		for _, t := range l.lost {
			v.task(t, taskWaits)
		}
		if l.conn != nil && !l.conn.Closed() && l.conn.sent.len() > 0 {
			v.conn(l.conn, willConn{LeaseID: l.id, Class: l.class.id, Choice: l.choice})
			fds = append(fds, l.conn.FD())
		}
	}
	for _, a := range c.actors {
		v.actor(a)
		if a.conn != nil && !a.conn.Closed() && a.conn.sent.len() > 0 {
			v.conn(a.conn, willConn{ActorID: append([]byte(nil), a.id[:]...)})
			fds = append(fds, a.conn.FD())
		}
	}
	v.recipes()
	return fds
}

// references writes down what the reference table knows; mu held.
func (v *inventory) references() {
	s, w := v.c.table.Snapshot((*host)(v.c)), v.w
	w.Objects, w.Held, w.Settlings, w.Receipts, w.LookedFor = s.Objects, s.Results, s.Retained, s.Receipts, s.LookedFor
	for i := range w.Objects { // the end of a borrower without a connection is being told
		x := &w.Objects[i]
		x.HeldBy = slices.DeleteFunc(x.HeldBy, func(p []byte) bool { return !v.serves[ids.Owner(p)] })
	}
}

func (v *inventory) written(t *task, place taskPlace) willTask {
	x := willTask{
		First: t.first, Returns: t.returns, Fmt: t.fmt, Seq: t.seq, Canceled: t.canceled,
		Args: t.args, Deps: rawOf(t.deps), Nested: rawOf(t.nested), Place: place,
	}
	t.attempts.write(&x)
	x.Tries = t.tried()
	if t.aside {
		x.Aside = append([]byte(nil), t.actor.id[:]...)
	}
	if t.stream != nil {
		x.Items, x.GoOn, x.Again = t.stream.came(), t.stream.goOn, t.stream.again
		if x.Again {
			v.c.eachReturn(t, func(i int, o *refs.Object) {
				if !o.State().Ready() {
					x.Makes = append(x.Makes, uint64(i))
				}
			})
		}
	}
	if t.argsRef != nil {
		x.ArgsRef = raw(t.argsRef.ID)
	}
	return x
}

func (v *inventory) task(t *task, place taskPlace) int {
	if n, ok := v.tasks[t]; ok {
		return n
	}
	v.tasks[t] = len(v.w.Tasks)
	v.w.Tasks = append(v.w.Tasks, v.complete(t, place))
	return v.tasks[t]
}

// complete is written with the task's template, and the function that it needs.
func (v *inventory) complete(t *task, place taskPlace) willTask {
	x := v.written(t, place)
	x.Template = v.templates[t.tmpl]
	if v.w.Templates[x.Template].Blob == nil {
		v.w.Templates[x.Template].Blob = t.tmpl.Blob
	}
	return x
}

func (v *inventory) conn(o *outConn, x willConn) {
	x.Addr, x.Seq, x.Unread, x.Unsent, x.Num = o.peerAddr, o.seq, socketOf(o).Unread(), o.Buffer(), o.num
	for t := range o.sent.all() {
		x.Tasks = append(x.Tasks, v.task(t, taskSent))
	}
	v.w.Conns = append(v.w.Conns, x)
}

func (v *inventory) actor(a *actor) {
	x := willActor{ID: append([]byte(nil), a.id[:]...), Name: a.name, Inc: a.inc, Limit: a.limit}
	if a.token != nil {
		x.Token = raw(a.token.ID)
	}
	if a.broken != nil {
		x.Broken, x.Conn = true, a.broken.num
	}
	for _, t := range a.sent {
		x.Calls = append(x.Calls, v.task(t, taskLost))
	}
	a.queue.each(func(t *task) { x.Calls = append(x.Calls, v.task(t, taskWaits)) })
	if b := a.creation; b != nil {
		place := taskWaits
		if b.announce { // its arguments wait elsewhere
			place = taskSent
		}
		x.Birth = &willBirth{Task: v.written(b.task, place), Template: *b.tmpl, Req: *b.req, Announce: b.announce, Again: b.again}
		x.Birth.Template.class = nil
	}
	if a.token == nil && a.pending == 0 && a.creation == nil {
		return // nobody has a handle of it any more
	}
	v.w.Actors = append(v.w.Actors, x)
}
