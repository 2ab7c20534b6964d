package client

import (
	"encoding/hex"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wait"
	"github.com/eagleray/eagleray/core/wire"
)

// The creation of an actor. Its creator registers it with the head when the
// constructor's arguments are ready, and keeps what these arguments refer to for as
// long as the constructor may run: until it has ended, or, if the actor may restart,
// until the actor is dead for good.

// creation is what the process that creates an actor keeps until the
// constructor has ended, and for longer if the constructor may run again: see
// creation.go.
type creation struct {
	task     *task // holds the constructor's arguments
	tmpl     *Template
	req      *wire.ActorCreate
	announce bool // the head was told
	again    bool // the constructor has ended, and runs again if the actor restarts
}

// newActor makes an actor whose constructor is the task, with one handle; mu held.
func (c *submitter) newActor(s *ActorSpec, t *task, tm *Template, site uint32) *actor {
	id := ids.NewActor(c.info.Job)
	a := &actor{id: id, name: s.ClassName, limit: s.MaxPendingCalls}
	c.actors[id] = a
	req := s.ActorCreate
	req.ActorID, req.OwnerID, req.OwnerAddr, req.JobID = id[:], c.self[:], c.info.Addr, c.info.Job[:]
	if s.Detached {
		a.handles = 1
	} else {
		a.token = c.table.New(0, 1)
		c.table.MakeToken(a.token, a)
		a.token.SetSite(site)
		c.table.Reserve(1) // see constructorerror.go
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
	a.creation = &creation{task: t, tmpl: tm, req: &req}
	return a
}

// announced returns the registration of an actor, for the caller to send now; mu held.
func (c *submitter) announced(a *actor) *wire.ActorCreate {
	b := a.creation
	c.noTask(b.task)
	b.req.Spec = c.creationSpec(b.task, b.tmpl)
	b.announce = true
	c.makesRoomFor(b.req)
	return b.req
}

// forgetCreation forgets an actor that was not registered; mu held.
func (c *submitter) forgetCreation(a *actor) {
	if a.token != nil {
		c.table.EndToken(a.token)
		c.table.Unref(a.token, 1)
	}
	delete(c.actors, a.id)
	c.unpinTask(a.creation.task)
}

// registerWhenReady registers an actor when its constructor's arguments are ready; mu held.
func (c *submitter) registerWhenReady(a *actor) {
	t := a.creation.task
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

// creationSpec encodes what the worker needs to run the constructor: the class,
// then the frame of a task.
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

// createActor sends the registration when the arguments are ready; mu held. The
// end of a session ends all waits, also the one for the arguments. Then nothing
// is registered any more.
func (c *submitter) createActor(a *actor) {
	if c.closed {
		return
	}
	b := a.creation
	b.req.Spec = c.creationSpec(b.task, b.tmpl)
	b.announce = true
	a.asking = true // nobody knows it before the answer
	c.makesRoomFor(b.req)
	c.fx.Request(wire.TActorCreate, b.req, func(_ *wire.Message, err error) {
		a.asking = false
		if err != nil {
			c.actorDead(a, fault.From(err), nil)
			c.constructorEnded(a)
			return
		}
		c.resolve(a)
	})
}

// settlesLate keeps what the constructor of a running actor took until the
// worker has registered the references that it keeps, because an owner of such
// a reference may answer late. For an actor that may restart this is kept
// anyway; mu held.
func (c *submitter) settlesLate(a *actor, s *wire.ActorState) {
	if b := a.creation; s.Unregistered && b != nil && !b.again {
		c.unsettled(b.task, s.Addr)
	}
}

// constructorEnded notes that the constructor has ended, in whatever way; mu held.
func (c *submitter) constructorEnded(a *actor) {
	b := a.creation
	if b == nil || b.again {
		return
	}
	if a.dead == nil && b.req.MaxRestarts != 0 && b.holds() && c.actors[a.id] == a {
		b.again = true
		c.watchDeath(a)
		return
	}
	c.endCreation(a)
}

// endCreation lets go of the constructor's arguments; mu held.
func (c *submitter) endCreation(a *actor) {
	b := a.creation
	a.creation = nil
	c.unpinTask(b.task)
	if a.token == nil && a.handles <= 0 && a.pending == 0 {
		c.forgetActor(a) // its last handle has gone meanwhile
	}
	c.fx.LessNeeded()
}

// runsNoMore notes that the actor's constructor does not run again; mu held.
func (c *submitter) runsNoMore(a *actor) {
	if a.creation != nil && a.creation.again {
		c.endCreation(a)
	}
}

// holds reports whether objects are kept for the constructor.
func (b *creation) holds() bool {
	return len(b.task.deps) > 0 || len(b.task.nested) > 0 || b.task.argsRef != nil
}

// watchDeath has the daemon tell when the actor is dead for good; mu held.
func (c *submitter) watchDeath(a *actor) {
	c.fx.Request(wire.TActorLost, wire.ActorLost{ActorID: a.id[:], Incarnation: wire.ActorNever}, func(m *wire.Message, err error) {
		var f wire.ActorDeath
		if err != nil || m.Decode(&f) != nil {
			return // the session has ended
		}
		if !c.closed {
			c.actorDead(a, diedFault(&f), f.Error)
		}
	})
}
