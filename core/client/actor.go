package client

import (
	"encoding/hex"
	"strings"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/own"
	"github.com/eagleray/eagleray/core/wire"
)

// actor is one actor that this process calls or holds a handle of. Its life
// is counted like an object's: the creator owns a token, whoever has a handle
// references or borrows the token, and when the token dies the actor ends.
type actor struct {
	id       ids.Actor
	name     string
	token    *own.Object // nil: not counted (detached, or looked up by name)
	inc      uint64      // incarnation that conn belongs to
	conn     *outConn
	asking   bool          // a resolve is under way
	patience time.Duration // until the next one
	queue    fifo          // calls not sent, in order
	pending  int           // calls without an answer
	limit    int           // of pending; 0: none
	handles  int           // of this process, when not counted
	dead     *fault.Error
	deadEnv  []byte       // envelope of the constructor's exception
	bad      *fault.Error // can never be scheduled here
}

// ActorSpec describes an actor to be created.
type ActorSpec struct {
	wire.ActorCreate
	FID      []byte
	Blob     []byte // the pickled class
	Template *Template
}

// NewActor registers an actor; the program gets one handle. For a named actor it waits
// for the head's answer; existing is what GetIfExists found.
func (c *Client) NewActor(s *ActorSpec, args *Value, deps []ids.Object) (id ids.Actor, existing *wire.ActorNamed, err error) {
	total, _ := args.layout()
	c.mu.Lock()
	if c.closed {
		defer c.mu.Unlock()
		return id, nil, c.why
	}
	id = ids.NewActor(c.info.Job)
	tm := &Template{Kind: KindTask, Name: s.ClassName, FID: s.FID, Blob: c.intern(s.FID, s.Blob)}
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
		a.token.State = own.Inline
		a.token.Watch = a
	}
	req := s.ActorCreate
	req.ActorID, req.OwnerID, req.OwnerAddr, req.JobID = id[:], c.self[:], c.info.Addr, c.info.Job[:]
	if a.token != nil {
		req.Token = hex.EncodeToString(a.token.ID[:]) + "@" + c.info.Addr
	}
	if req.Namespace == "" {
		req.Namespace = c.info.Namespace
	}
	send := func() { c.createActor(a, t, tm, &req) }
	if s.Name == "" {
		if t.waiting == 0 {
			send()
		} else {
			a.asking = true
			t.actor = nil
			w := newWaiter()
			w.need, w.open = int(t.waiting), int(t.waiting)
			w.notify = func() { send() }
			for _, o := range t.deps {
				if !o.State.Ready() {
					x := watchOf(o)
					for i, y := range x.tasks { // the constructor is no task
						if y == t {
							x.tasks = append(x.tasks[:i], x.tasks[i+1:]...)
							break
						}
					}
					x.waiters = append(x.waiters, w)
				}
			}
		}
		c.mu.Unlock()
		return id, nil, nil
	}
	// A name must be taken before we return, arguments or not: the worker
	// asks their owners itself.
	req.Spec = c.creationSpec(t, tm)
	c.mu.Unlock()
	var got wire.ActorCreated
	err = c.call(wire.TActorCreate, &req, &got)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || got.Existing != nil {
		if a.token != nil {
			a.token.Watch = nil
			c.table.Unref(a.token, 1)
		}
		delete(c.actors, id)
		c.unpinTask(t)
		return id, got.Existing, err
	}
	c.resolve(a, t)
	return id, nil, nil
}

// creationSpec encodes what the worker needs to run the constructor: the
// function, then the frame of a task.
func (c *Client) creationSpec(t *task, tm *Template) []byte {
	b := c.appendTemplate(nil, tm, true)
	b, at := wire.BeginFrame(b)
	b = wire.AppendArray(b, 6)
	b = wire.AppendUint(b, uint64(wire.OpTask))
	b = wire.AppendUint(b, 0)
	b = wire.AppendUint(b, uint64(tm.id))
	b = wire.AppendUint(b, t.first)
	if t.argsRef != nil {
		b = c.appendPlace(b, t.argsRef)
	} else {
		b = wire.AppendArray(b, 2)
		b = wire.AppendUint(b, wire.PlaceInline)
		b = wire.AppendBin(b, t.args)
	}
	b = wire.AppendArray(b, len(t.deps))
	for _, o := range t.deps {
		if o.State == own.Inline && !o.IsError {
			b = c.appendPlace(b, o)
			continue
		}
		b = wire.AppendArray(b, 4) // in a store, or not ready: ask its owner
		b = wire.AppendUint(b, wire.PlaceStore)
		b = wire.AppendBin(b, o.ID[:])
		b = wire.AppendUint(b, o.Size)
		b = wire.AppendStr(b, c.addrOf(o))
	}
	return wire.EndFrame(b, at)
}

// createActor sends the registration once the arguments are ready; mu held.
func (c *Client) createActor(a *actor, t *task, tm *Template, req *wire.ActorCreate) {
	req.Spec = c.creationSpec(t, tm)
	a.asking = true // nobody knows it before the answer
	c.daemon.Go(wire.TActorCreate, req, func(_ *wire.Message, err error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		a.asking = false
		if err != nil {
			c.actorDead(a, fault.From(err), nil)
			c.unpinTask(t)
			return
		}
		c.resolve(a, t)
	})
}

// resolve asks where the actor is; t is its constructor while that may run.
func (c *Client) resolve(a *actor, t *task) {
	if a.asking || a.dead != nil || c.closed {
		return
	}
	a.asking = true
	c.daemon.Go(wire.TActorResolve, wire.ActorResolve{ActorID: a.id[:], After: a.inc}, func(m *wire.Message, err error) {
		var s wire.ActorState
		if err == nil {
			err = m.Decode(&s)
		}
		c.resolved(a, t, &s, err)
	})
}

func (c *Client) resolved(a *actor, t *task, s *wire.ActorState, err error) {
	var fd = -1
	if err == nil && s.State == wire.ActorAlive {
		fd, err = dialData(s.Addr, wire.Hello{Version: wire.Version, Role: wire.RoleActor, OwnerID: c.self[:], Addr: c.info.Addr, ActorID: a.id[:]})
		if err != nil { // it died since; the head will know
			c.mu.Lock()
			defer c.mu.Unlock()
			a.asking = false
			a.inc = s.Incarnation
			c.resolve(a, t)
			return
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	a.asking = false
	if c.closed {
		if fd >= 0 {
			closeFD(fd)
		}
		return
	}
	switch {
	case fault.CodeOf(err) == fault.NotFound && c.unannounced(a):
		a.asking = true // the handle was quicker than the registration
		a.patience = min(2*a.patience+time.Millisecond, resolveAgain)
		time.AfterFunc(a.patience, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			a.asking = false
			c.resolve(a, t)
		})
		return
	case err != nil:
		c.actorDead(a, fault.From(err), nil)
	case s.State == wire.ActorAlive:
		a.inc, a.bad = s.Incarnation, nil
		o := newOutConn(c, fd, s.Addr)
		o.actor = a
		a.conn = o
		if err := c.adopt(o); err != nil {
			c.fail(err)
			return
		}
		c.pumpActor(a)
	case s.State == wire.ActorUnschedulable:
		a.bad = fault.New(fault.ActorUnschedulable, "%s", s.Message)
		for i := a.queue.head; i < len(a.queue.items); i++ {
			c.hopeless(a.queue.items[i], a.bad)
		}
		return // the constructor may still run one day: keep its arguments
	default:
		code := fault.Code(s.Cause)
		if code == "" {
			code = fault.ActorDied
		}
		c.actorDead(a, fault.New(code, "%s", s.Message), s.Error)
	}
	if t != nil {
		c.unpinTask(t)
	}
}

// resolveAgain is how often an actor is asked for that its creator has not registered yet: its
// constructor's arguments may be long in coming. Less often would be felt.
const resolveAgain = 50 * time.Millisecond

// unannounced reports whether another process, which lives, is about to register the actor.
func (c *Client) unannounced(a *actor) bool {
	return a.token != nil && !a.token.Owned() && c.peers[a.token.OwnerAddr] != nil
}

// actorDead fails everything that is queued for it.
func (c *Client) actorDead(a *actor, f *fault.Error, env []byte) {
	if a.dead == nil {
		a.dead, a.deadEnv = f, env
	}
	for a.queue.len() > 0 {
		c.failCall(a, a.queue.pop())
	}
}

func (c *Client) failCall(a *actor, t *task) {
	if a.deadEnv != nil {
		c.eachReturn(t, func(_ int, o *own.Object) {
			c.complete(o, own.Inline, a.deadEnv, uint64(len(a.deadEnv)), true)
		})
		c.endTask(t)
		return
	}
	c.failTask(t, a.dead)
}

// CallActor submits a method call.
func (c *Client) CallActor(id ids.Actor, call *Call) (first ids.Object, returns int, err error) {
	total, _ := call.Args.layout()
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.actors[id]
	if a == nil {
		return first, 0, fault.New(fault.NotFound, "actor %s: this process holds no handle of it", id)
	}
	if a.limit > 0 && a.pending >= a.limit {
		return first, 0, fault.New(fault.PendingCallsLimit, "actor %s (%s) has %d calls pending, max_pending_calls=%d", a.name, id, a.pending, a.limit)
	}
	tm, err := c.templateOf(call.Template)
	if err != nil {
		return first, 0, err
	}
	t, err := c.newTask(tm, call, total)
	if err != nil {
		return first, 0, err
	}
	t.actor = a
	a.pending++
	if a.token != nil {
		c.table.Pin(a.token)
	}
	first = ids.NewObject(t.first, c.self, c.info.Job, 1)
	switch {
	case a.dead != nil:
		c.failCall(a, t)
	default:
		if a.bad != nil {
			c.hopeless(t, a.bad)
		}
		a.queue.push(t)
		c.pumpActor(a)
	}
	return first, int(t.returns), nil
}

// pumpActor sends the calls whose arguments are ready, in order; mu held.
func (c *Client) pumpActor(a *actor) {
	if a.conn == nil {
		if a.queue.len() > 0 {
			c.resolve(a, nil)
			c.watchPending()
		}
		return
	}
	for a.queue.len() > 0 {
		t := a.queue.items[a.queue.head]
		if t.waiting > 0 && !t.canceled {
			return
		}
		a.queue.pop()
		if t.canceled {
			c.failTask(t, cancelFault(t))
			continue
		}
		if d := t.badDep(); d != nil {
			c.failLike(t, d)
			continue
		}
		if c.tooMuch(t) {
			a.queue.pushFront([]*task{t})
			t.waiting++ // until its arguments are in the arena
			go c.moveArguments(t)
			return
		}
		t.on = a.conn
		a.conn.send(t)
	}
}

// callEnded is told once for each call that has its answer.
func (c *Client) callEnded(a *actor) {
	a.pending--
	if a.token != nil {
		c.table.Unpin(a.token)
		c.carryOut()
	}
}

// actorLost: the actor's socket broke with calls on it. Calls that were sent may have
// run; they fail with what the head says. The others go to the next incarnation.
func (c *Client) actorLost(a *actor, o *outConn, sent []*task) {
	if a.conn == o {
		a.conn = nil
	}
	if c.closed {
		return
	}
	if len(sent) == 0 {
		if a.queue.len() > 0 {
			c.resolve(a, nil)
		}
		return
	}
	// The head tells how it ended, or that it lives again. Until then nothing
	// newer is sent: what is tried again goes first.
	a.asking = true
	c.daemon.Go(wire.TActorResolve, wire.ActorResolve{ActorID: a.id[:], After: a.inc}, func(m *wire.Message, err error) {
		var s wire.ActorState
		if err == nil {
			err = m.Decode(&s)
		}
		c.mu.Lock()
		f := fault.New(fault.ActorUnavailable, "actor %s (%s) died while the call ran and was restarted; the call may have taken effect", a.name, a.id)
		switch {
		case err != nil:
			f = fault.From(err)
		case s.State == wire.ActorDead:
			code := fault.Code(s.Cause)
			if code == "" {
				code = fault.ActorDied
			}
			f = fault.New(code, "%s", s.Message)
			c.actorDead(a, f, s.Error)
		}
		lives := err == nil && s.State != wire.ActorDead
		var again []*task
		for _, t := range sent {
			t.on = nil
			t.tries++
			switch m := int32(t.tmpl.MaxRetries); {
			case t.canceled:
				c.failTask(t, cancelFault(t))
			case lives && (m < 0 || t.tries <= m):
				again = append(again, t)
			default:
				c.failTask(t, f)
			}
		}
		a.queue.pushFront(again)
		c.mu.Unlock()
		c.resolved(a, nil, &s, err)
	})
}

// handlesGone: the token died, nobody can call the actor any more.
func (c *Client) handlesGone(a *actor) {
	if a.token.Owned() {
		c.push(wire.TActorRelease, wire.ActorRef{ActorID: a.id[:]})
	} else {
		c.giveBack(a.token)
	}
	c.forgetActor(a)
}

func (c *Client) forgetActor(a *actor) {
	delete(c.actors, a.id)
	if a.conn != nil {
		c.flush(&a.conn.conn)
		c.retire(&a.conn.conn)
		a.conn = nil
	}
}

// ActorToken returns what another process needs to count its handle: the
// token's id and its owner's socket, "" when the actor is not counted.
func (c *Client) ActorToken(id ids.Actor) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.actors[id]
	if a == nil || a.token == nil {
		return ""
	}
	return hex.EncodeToString(a.token.ID[:]) + "@" + c.addrOf(a.token)
}

// OpenActor makes a handle of an actor that another process, or its name, gave us.
// It returns the id of the counting token, for Release; zero when not counted.
func (c *Client) OpenActor(id ids.Actor, token, name string, limit int) (tok ids.Object, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return tok, c.why
	}
	a := c.actors[id]
	if a == nil {
		a = &actor{id: id, name: name, limit: limit}
		c.actors[id] = a
	}
	if token == "" || a.token == nil && a.handles > 0 {
		if a.token == nil {
			a.handles++
			return tok, nil
		}
		a.token.Local++
		return a.token.ID, nil
	}
	h, addr, ok := strings.Cut(token, "@")
	raw, err := hex.DecodeString(h)
	if !ok || err != nil {
		return tok, fault.New(fault.BadRequest, "malformed actor token %q", token)
	}
	oid, err := ids.ParseObject(raw)
	if err != nil {
		return tok, fault.New(fault.BadRequest, "malformed actor token: %v", err)
	}
	if a.token == nil {
		a.token = c.borrow(oid, addr)
		if a.token.State == own.Pending {
			a.token.State = own.Inline
		}
		a.token.Watch = a
	}
	a.token.Local++
	return oid, nil
}

// ActorTokenID returns the token's id of an actor that this process created or opened.
func (c *Client) ActorTokenID(id ids.Actor) (tok ids.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.actors[id]; a != nil && a.token != nil {
		tok = a.token.ID
	}
	return tok
}

// CloseActor lets an uncounted handle go.
func (c *Client) CloseActor(id ids.Actor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.actors[id]; a != nil && a.token == nil {
		a.handles--
		if a.handles <= 0 && a.pending == 0 {
			c.forgetActor(a)
		}
	}
}

// KillActor ends an actor at once.
func (c *Client) KillActor(id ids.Actor, noRestart bool) error {
	if err := c.call(wire.TActorKill, wire.ActorKill{ActorID: id[:], NoRestart: noRestart}, nil); err != nil {
		return err
	}
	if noRestart {
		c.mu.Lock()
		defer c.mu.Unlock()
		if a := c.actors[id]; a != nil { // later calls of ours must not reach it any more
			c.actorDead(a, fault.New(fault.ActorDied, "actor %s (%s) was killed by kill()", a.name, a.id), nil)
		}
	}
	return nil
}
