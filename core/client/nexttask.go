package client

import (
	"time"

	"github.com/eagleray/eagleray/core/execute"
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wait"
	"github.com/eagleray/eagleray/core/wire"
)

// RemoteTemplate is a caller's template.
type RemoteTemplate = execute.Template

// SystemGroup is a concurrency group that every actor has. Its thread begins with its first call.
const SystemGroup = execute.SystemGroup

// What NextTask gives.
const (
	ItemTask = iota + 1
	ItemMethod
	ItemAssign
	ItemActor
	ItemExit
	ItemForget
)

// Item is one thing for the worker's program to do.
type Item struct {
	Kind    int
	Token   uint64 // for Reply
	Tmpl    *RemoteTemplate
	Args    Found
	Deps    []Found
	Returns int
	TaskID  ids.Task
	Blob    []byte // ItemAssign: the assignment, as a msgpack map; ItemForget: a function's id
	Actor   *wire.ActorStart
	Reason  string // ItemExit
}

// NextTask waits for something to do. nil: the timeout passed. A thread names the concurrency group
// whose calls it runs; that of the default group, whose name is empty, gets all else.
func (c *Client) NextTask(timeout time.Duration, group string) (*Item, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.exec
	l := e.Lane(group)
	if l == nil {
		return nil, fault.New(fault.BadRequest, "there is no concurrency group %q here", group)
	}
	deadline := deadlineOf(timeout)
	for {
		if group == "" {
			if fid := e.TakeForget(); fid != nil {
				return &Item{Kind: ItemForget, Blob: fid}, nil
			}
		}
		if k := e.Next(l); k != nil {
			if it := c.beginCall(k); it != nil {
				return it, nil
			}
			continue
		}
		if reason := e.Ended(); reason != "" || c.closed {
			e.Told(l)
			c.poller.SendAll()
			return &Item{Kind: ItemExit, Reason: reason}, nil
		}
		c.poller.SendAll()
		w := wait.New()
		l.Await(w)
		c.poller.Await(w, deadline)
		if !w.Over() {
			l.Unawait(w)
			if !c.closed {
				return nil, nil
			}
		}
	}
}

// beginCall makes a call that was taken out of the queue an item: its arguments are
// fetched. nil: the call does not begin, and is answered, deferred or given back.
// mu held, released meanwhile.
func (c *Client) beginCall(k *execute.Call) *Item {
	e := c.exec
	if k.Assign != nil {
		return &Item{Kind: ItemAssign, Blob: k.Assign}
	}
	it := &Item{Kind: ItemTask, Token: k.Token(), Tmpl: k.Tmpl, Returns: k.Tmpl.Returns, TaskID: k.Task, Actor: k.Actor}
	switch {
	case k.Actor != nil:
		it.Kind = ItemActor
	case k.Tmpl.Kind == KindMethod:
		it.Kind = ItemMethod
	}
	if k.Yields() {
		if k.Unwanted() {
			c.answer(k, []Value{{Fmt: FmtNone}}, 0)
			return nil
		}
		it.Returns = generatorReturns(k.Tmpl.Flow)
	}
	if k.Actor != nil {
		if err := c.fetchClass(k); err != nil {
			e.AnswerFault(k, fault.From(err))
			return nil
		}
	}
	held := c.pinArguments(k)
	lost, err := c.arguments(k, it)
	for _, v := range held {
		c.local.Release(v)
	}
	switch {
	case lost != nil && k.Leased():
		e.GiveLost(k, lost)
		return nil
	case lost != nil:
		c.deferCall(k, lost)
		return nil
	case err != nil:
		if k.Actor != nil {
			err = lacksArgument(k, err)
		}
		e.AnswerFault(k, fault.From(err))
		return nil
	}
	e.Begin(k)
	c.poller.ArmLater(e.Lane("").Len() > 0) // somebody has to look after the sockets while it runs
	return it
}

// openArgument finds an argument; mu held, released while asking.
func (c *Client) openArgument(k *execute.Call, p frame.Place) (Found, error) {
	if p.Envelope != nil {
		return Found{Envelope: p.Envelope}, nil
	}
	if p.Size == 0 { // not known to be ready when it was sent
		o := c.borrow(p.ID, p.Owner)
		c.table.Pin(o)
		k.Hold(o)
		return c.getHere(p.ID)
	}
	v, err := c.pin(p.ID, time.Time{})
	if err != nil {
		return Found{}, err
	}
	b, n, err := c.local.Open(v)
	if err != nil {
		c.local.Unhold(v)
		return Found{}, err
	}
	return Found{Envelope: b, View: n}, nil
}

// DeclareGroups says which concurrency groups this actor has beside the default one. The program has threads for all
// of them but the system group: serve, if it is set, begins the thread of that one when there is a call.
func (c *Client) DeclareGroups(names []string, serve func()) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.exec.DeclareGroups(names, serve)
}

// Function returns a pickled function or class, and keeps it until Unload.
func (c *Client) Function(fid [16]byte) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if blob := c.exec.Load(fid); blob != nil {
		return blob, nil
	}
	return nil, fault.New(fault.Internal, "function %x was not sent", fid)
}

// Unload says that the program keeps a function no more that it asked for.
func (c *Client) Unload(fid [16]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.exec != nil {
		c.exec.Unload(fid)
	}
}

// CurrentCancelled returns a running task whose cancellation was asked, each once.
func (c *Client) CurrentCancelled() (id ids.Task, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.exec == nil {
		return id, false
	}
	return c.exec.TakeCancelled()
}

// Cancelled reports whether the cancellation of a running task was asked.
func (c *Client) Cancelled(id ids.Task) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.exec != nil && c.exec.Cancelled(id)
}

// becomeActor makes this worker an actor's. An actor ends at once when it is
// killed, and what its process owns ends with it. So a worker that others still
// need, for what its tasks have put or submitted, declines: it hands that to an
// heir and ends, and the daemon gives the actor another worker.
func (c *Client) becomeActor(s *wire.ActorStart) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.needed(time.Now()) {
		c.exec.Stop(wire.ExitDeclines)
		return nil
	}
	c.mu.Unlock()
	page := c.askPage(s.Restarts)
	c.mu.Lock()
	return c.exec.BecomeActor(s, page)
}
