package client

import (
	"encoding/hex"
	"math/rand/v2"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wait"
	"github.com/eagleray/eagleray/core/wire"
)

// actor is one actor that this process calls or holds a handle of. Its life
// is counted like an object's: the creator owns a token, whoever has a handle
// references or borrows the token, and when the token dies the actor ends.
type actor struct {
	id       ids.Actor
	name     string
	token    *refs.Object // nil: not counted (detached, or looked up by name)
	inc      uint64       // incarnation that conn belongs to
	conn     *outConn
	asking   bool            // a resolve is under way
	stuck    bool            // calls of it cannot be sent,
	since    uint32          // since this look, see pending.go
	patience time.Duration   // until the next one
	queue    fifo            // calls not sent, in order
	grouped  bool            // some are of a concurrency group
	held     map[string]bool // groups whose calls wait for arguments; nil: not known
	pending  int             // calls without an answer
	limit    int             // of pending; 0: none
	handles  int             // of this process, when not counted
	dead     *fault.Error
	deadEnv  []byte       // envelope of the constructor's exception
	raised   *refs.Object // pinned: that exception, when it is in the store
	bad      *fault.Error // can never be scheduled here
	birth    *birth       // until its constructor has ended
	sent     []*task      // that it had when its socket broke, while the daemon is asked

	broken *brokenConn // what became of inc is not known: its socket broke
}

// birth is what the creator keeps of an actor whose constructor has not ended,
// or may run again: see birth.go.
type birth struct {
	task     *task // holds the constructor's arguments
	tmpl     *Template
	req      *wire.ActorCreate
	announce bool // the head was told
	again    bool // the constructor has ended, and runs again if the actor restarts
}

// ActorSpec describes an actor to be created.
type ActorSpec struct {
	wire.ActorCreate
	FID      []byte
	Blob     []byte // the pickled class
	Template *Template
	Classes  []ActorCode // of Fallback, one each
}

// ActorCode is the class that an alternative names, zero for the actor's own.
type ActorCode struct {
	FID  []byte
	Blob []byte
}

// NewActor registers an actor; the program gets one handle. For a named actor it waits
// for the head's answer; existing is what GetIfExists found.
func (c *Client) NewActor(s *ActorSpec, args *Value, deps []ids.Object) (id ids.Actor, existing *wire.ActorNamed, err error) {
	if err := s.check(); err != nil {
		return id, nil, err
	}
	total, _ := args.layout()
	c.mu.Lock()
	if c.closed {
		defer c.mu.Unlock()
		return id, nil, c.why
	}
	id = ids.NewActor(c.info.Job)
	tm := &Template{Kind: KindTask, Name: s.ClassName, FID: s.FID, Blob: s.Blob}
	tm.intern()
	t, err := c.newTask(tm, &Call{Args: *args, Deps: deps}, total)
	if err != nil {
		c.mu.Unlock()
		return id, nil, err
	}
	a := &actor{id: id, name: s.ClassName, limit: s.MaxPendingCalls}
	c.actors[id] = a
	if s.Detached {
		a.handles = 1
	} else {
		a.token = c.table.New(0, 1)
		c.table.MakeToken(a.token, a)
		a.token.SetSite(args.Site)
		c.table.Reserve(1) // see raised.go
	}
	req := s.ActorCreate
	req.ActorID, req.OwnerID, req.OwnerAddr, req.JobID = id[:], c.self[:], c.info.Addr, c.info.Job[:]
	if a.token != nil {
		req.Token = hex.EncodeToString(a.token.ID[:]) + "@" + c.info.Addr
	}
	if req.Namespace == "" {
		req.Namespace = c.info.Namespace
	}
	for i, k := range s.Classes {
		if len(k.FID) > 0 {
			req.Fallback[i].Template = appendTemplate(nil, &Template{Kind: KindTask, Name: req.Fallback[i].ClassName, FID: k.FID, Blob: k.Blob}, true)
		}
	}
	a.birth = &birth{task: t, tmpl: tm, req: &req}
	code := s.codeObjects()
	if s.Name == "" && len(code) == 0 {
		c.bear(a)
		c.mu.Unlock()
		return id, nil, nil
	}
	// A name must be taken before we return, and the class of an actor that may
	// outlive this process given away, arguments or not: the worker asks their
	// owners itself.
	c.noTask(t)
	req.Spec = c.creationSpec(t, tm)
	a.birth.announce = true
	c.makesRoomFor(&req)
	c.mu.Unlock()
	var got wire.ActorCreated
	got.Existing, err = c.giveCode(&req, code)
	if err == nil && got.Existing == nil {
		if err = c.call(wire.TActorCreate, &req, &got); len(code) > 0 && (err != nil || got.Existing != nil) {
			c.push(wire.TCodeDrop, wire.ActorRef{ActorID: id[:]})
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || got.Existing != nil {
		if a.token != nil {
			c.table.EndToken(a.token)
			c.table.Unref(a.token, 1)
		}
		delete(c.actors, id)
		c.unpinTask(t)
		return id, got.Existing, err
	}
	c.resolve(a)
	return id, nil, nil
}

// bear registers an actor when its constructor's arguments are ready; mu held.
func (c *submitter) bear(a *actor) {
	t := a.birth.task
	if t.waiting == 0 {
		c.createActor(a)
		return
	}
	a.asking = true
	t.actor = nil
	w := wait.Calling(func() { c.createActor(a) }).For(int(t.waiting), int(t.waiting), false)
	c.noTask(t)
	for _, o := range t.deps {
		if !o.State().Ready() {
			c.table.Watch(o, w)
		}
	}
}

// noTask keeps a constructor from being started like a task when its arguments come; mu held.
func (c *submitter) noTask(t *task) {
	for _, o := range t.deps {
		c.table.UnwatchBy(o, t)
	}
}

// creationSpec encodes what the worker needs to run the constructor: the
// function, then the frame of a task.
func (c *submitter) creationSpec(t *task, tm *Template) []byte {
	b := appendTemplate(nil, tm, true)
	b, at := frame.BeginTask(b, 0, uint64(tm.id), t.first, false)
	b = c.appendArgs(b, t)
	b = frame.AppendCount(b, len(t.deps))
	room := maxTogether // the cluster's state keeps the specification
	for _, o := range t.deps {
		if o.State() == refs.Inline && !o.IsError() {
			if room -= len(o.Value()); room >= 0 {
				b = c.appendPlace(b, o)
			} else {
				b = c.appendOwner(b, o)
			}
			continue
		}
		b = frame.AppendStored(b, &o.ID, o.Size(), c.addrOf(o)) // in a store, or not ready: ask its owner
	}
	return frame.End(b, at)
}

// createActor sends the registration once the arguments are ready; mu held. The end of a
// session ends all waits, that for the arguments too: nothing is registered any more then.
func (c *submitter) createActor(a *actor) {
	if c.closed {
		return
	}
	b := a.birth
	b.req.Spec = c.creationSpec(b.task, b.tmpl)
	b.announce = true
	a.asking = true // nobody knows it before the answer
	c.makesRoomFor(b.req)
	c.fx.Request(wire.TActorCreate, b.req, func(_ *wire.Message, err error) {
		a.asking = false
		if err != nil {
			c.actorDead(a, fault.From(err), nil)
			c.born(a)
			return
		}
		c.resolve(a)
	})
}

// resolve asks where the actor is; mu held.
func (c *submitter) resolve(a *actor) {
	if a.asking || a.dead != nil || c.closed {
		return
	}
	if a.broken != nil {
		c.askFate(a)
		return
	}
	a.asking = true
	c.fx.Request(wire.TActorResolve, wire.ActorResolve{ActorID: a.id[:], After: a.inc}, func(m *wire.Message, err error) {
		var s wire.ActorState
		if err == nil {
			err = m.Decode(&s)
		}
		c.resolved(a, &s, err)
	})
}

func (c *submitter) resolved(a *actor, s *wire.ActorState, err error) {
	a.asking = false
	if c.closed {
		return
	}
	switch {
	case fault.CodeOf(err) == fault.NotFound && c.unannounced(a):
		a.asking = true // the handle was quicker than the registration
		a.patience = min(2*a.patience+time.Millisecond, resolveAgain)
		c.fx.After(a.patience, func() {
			a.asking = false
			c.resolve(a)
		})
		return
	case err != nil:
		c.actorDead(a, fault.From(err), nil)
	case s.State == wire.ActorAlive:
		c.connectActor(a, s)
		c.settlesLate(a, s)
	case s.State == wire.ActorUnschedulable:
		a.bad = fault.New(fault.ActorUnschedulable, "%s", s.Message)
		a.queue.each(func(t *task) { c.infeasible(t, a.bad) })
		return // the constructor may still run one day: keep its arguments
	default:
		code := fault.Code(s.Cause)
		if code == "" {
			code = fault.ActorDied
		}
		c.actorDead(a, fault.New(code, "%s", s.Message), s.Error)
	}
	c.born(a)
}

// connectActor opens a socket to an actor that runs.
func (c *submitter) connectActor(a *actor, s *wire.ActorState) {
	a.asking, a.bad = true, nil
	o := newOutConn(c, s.Addr)
	o.actor, o.num, o.inc = a, rand.Uint32(), s.Incarnation
	c.fx.Connect(o, wire.Hello{Version: wire.Version, Role: wire.RoleActor, OwnerID: c.self[:], Addr: c.info.Addr, ActorID: a.id[:], LeaseID: uint64(o.num), JobID: c.info.Job[:]}, -1)
}

// actorConnected: the socket to an actor is open, or cannot be opened.
func (c *submitter) actorConnected(a *actor, o *outConn, err error) {
	a.asking, a.inc = false, o.inc
	if err != nil { // it died since, most likely; the daemon will know
		a.broken = &brokenConn{o.num}
		c.resolve(a)
		return
	}
	a.conn, a.stuck = o, false
	c.pumpActor(a)
}

// resolveAgain is how often an actor is asked for that its creator has not registered yet: its
// constructor's arguments may be long in coming. Less often would be felt.
const resolveAgain = 50 * time.Millisecond

// unannounced reports whether another process, which lives, is about to register the actor.
func (c *submitter) unannounced(a *actor) bool {
	return a.token != nil && !a.token.Owned() && c.fx.Known(a.token.OwnerAddr())
}
