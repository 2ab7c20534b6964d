package client

import (
	"errors"
	"fmt"
	"net"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/transport"
	"github.com/eagleray/eagleray/core/wire"
)

// The parts of an heir, from the parts of the will. Nothing runs yet.

// objects fills the table.
func (h *heir) objects() error { return h.references(&refs.Snapshot{Objects: h.w.Objects}) }

// references gives the reference table a part of what it had.
func (h *heir) references(s *refs.Snapshot) error {
	s.Version = refs.SnapshotVersion // both processes run the same version: wire.Version says so
	return h.c.table.Restore(s, (*host)(h.c))
}

// found returns objects of the table.
func (h *heir) found(list [][]byte) ([]*refs.Object, error) { return h.c.table.Named(list) }

// task makes a task as it was, with what it pins.
func (h *heir) task(x *willTask, tm *Template) (*task, error) {
	t := &task{tmpl: tm, first: x.First, returns: x.Returns, attempts: attemptsOf(x), fmt: x.Fmt, seq: x.Seq, canceled: x.Canceled, args: x.Args, aside: len(x.Aside) > 0}
	var err1, err2 error
	t.deps, err1 = h.found(x.Deps)
	t.nested, err2 = h.found(x.Nested)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	if len(x.ArgsRef) > 0 {
		l, err := h.found([][]byte{x.ArgsRef})
		if err != nil {
			return nil, err
		}
		t.argsRef = l[0]
		h.c.table.Pin(t.argsRef)
	}
	for _, list := range [][]*refs.Object{t.deps, t.nested} {
		for _, o := range list {
			h.c.table.Pin(o)
		}
	}
	if tm.Flow.Mode != 0 {
		h.c.restoreStream(t, x)
	}
	h.c.eachReturn(t, func(_ int, o *refs.Object) {
		if o.State() == refs.Pending && !slices.Contains(h.c.table.Unverified(), o) {
			o.SetSource(t)
		}
	})
	if x.Place != taskWaits {
		return t, nil
	}
	for _, o := range t.deps {
		h.c.waitFor(t, o)
	}
	if t.argsRef != nil {
		h.c.waitFor(t, t.argsRef)
	}
	return t, nil
}

// adopted returns a connection that was handed over.
func (h *heir) adopted() (*net.UnixConn, error) {
	n, err := net.FileConn(h.next())
	if err != nil {
		return nil, fmt.Errorf("a connection that was handed over: %w", err)
	}
	return n.(*net.UnixConn), nil
}

func (h *heir) serving() error {
	c := h.c
	for i := range h.w.Serving {
		x := &h.w.Serving[i]
		u, err := h.adopted()
		if err != nil {
			return err
		}
		p := c.served.Resume(u, ids.Owner(x.Owner), x.State)
		for _, q := range x.Questions {
			l, err := h.found([][]byte{q.Object})
			if err != nil {
				return err
			}
			c.table.Question(l[0], p.Question(wire.TRefWait, q.ID))
		}
	}
	return nil
}

func (h *heir) links() error {
	c := h.c
	again := map[string][][]byte{}
	c.table.Each(func(o *refs.Object) bool {
		if !o.Owned() {
			again[o.OwnerAddr()] = append(again[o.OwnerAddr()], raw(o.ID))
		}
		return true
	})
	for i := range h.w.Links {
		x := &h.w.Links[i]
		u, err := h.adopted()
		if err != nil {
			return err
		}
		l := c.links.Resume(u, x.Addr, x.State)
		if len(x.GiveBack) > 0 {
			l.BatchAll(wire.TRefReturn, x.GiveBack)
		}
		if !x.Again {
			delete(again, x.Addr)
		}
	}
	for addr, list := range again {
		c.table.Registering(len(list))
		c.links.To(addr).BatchAll(wire.TRefBorrow, list)
	}
	return nil
}

func (h *heir) actors() error {
	c := h.c
	for i := range h.w.Actors {
		x := &h.w.Actors[i]
		a := &actor{id: ids.Actor(x.ID), name: x.Name, inc: x.Inc, limit: x.Limit}
		c.actors[a.id] = a
		if x.Broken {
			a.broken = &brokenConn{x.Conn}
		}
		if len(x.Token) > 0 {
			l, err := h.found([][]byte{x.Token})
			if err != nil {
				return err
			}
			a.token = l[0]
			c.table.MakeToken(a.token, a)
		}
		for _, n := range x.Calls {
			if n < 0 || n >= len(h.tasks) {
				return fmt.Errorf("call %d, of %d, was handed over", n, len(h.tasks))
			}
			t := h.tasks[n]
			h.call(a, t)
			if h.w.Tasks[n].Place == taskLost {
				a.sent = append(a.sent, t)
			} else {
				a.queue.push(t)
			}
		}
		if b := x.Birth; b != nil {
			t, err := h.task(&b.Task, &b.Template)
			if err != nil {
				return err
			}
			a.creation = &creation{task: t, tmpl: &b.Template, req: &b.Req, announce: b.Announce, again: b.Again}
		}
	}
	return nil
}

// call makes a task a call of an actor.
func (h *heir) call(a *actor, t *task) {
	t.actor = a
	a.pending++
	if a.token != nil {
		h.c.table.Pin(a.token)
	}
}

func (h *heir) conns() error {
	c := h.c
	for i := range h.w.Conns {
		x := &h.w.Conns[i]
		fd, err := unix.FcntlInt(h.next().Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("a task socket that was handed over: %w", err)
		}
		o := newOutConn(&c.submitter, x.Addr)
		o.seq, o.num = x.Seq, x.Num
		socket := new(transport.Conn)
		socket.Restore(x.Unread, x.Unsent)
		o.pipe = socket
		if len(x.ActorID) > 0 {
			a := c.actors[ids.Actor(x.ActorID)]
			if a == nil {
				return fmt.Errorf("a task socket of an actor that was not handed over")
			}
			o.actor, a.conn = a, o
		} else {
			k := c.classes[x.Class]
			if k == nil {
				return fmt.Errorf("a lease of class %d, which was not, was handed over", x.Class)
			}
			l := &lease{id: x.LeaseID, class: k, conn: o, busy: len(x.Tasks), recall: true, choice: x.Choice}
			if l.choice < 0 || l.choice >= len(l.class.paces) {
				return fmt.Errorf("a lease of choice %d was handed over", x.Choice)
			}
			o.lease, c.leases[l.id] = l, l
			l.class.leases = append(l.class.leases, l)
		}
		for _, n := range x.Tasks {
			if n < 0 || n >= len(h.tasks) {
				return fmt.Errorf("task %d, of %d, was handed over", n, len(h.tasks))
			}
			t := h.tasks[n]
			if o.sent.get(t.seq) != nil {
				return fmt.Errorf("two calls with number %d were handed over", t.seq)
			}
			t.on = o
			o.sent.add(t)
			if o.actor != nil {
				h.call(o.actor, t)
			}
			c.inflight++
		}
		if err := c.poller.Add(socket, fd, o); err != nil {
			return err
		}
		o.SendSoon()
	}
	return nil
}

// results restores what is held for callers and workers. The connections to them are there.
func (h *heir) results() error {
	w := h.w
	return h.references(&refs.Snapshot{Results: w.Held, Retained: w.Settlings, Receipts: w.Receipts, LookedFor: w.LookedFor})
}
