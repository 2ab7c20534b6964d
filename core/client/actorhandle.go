package client

import (
	"encoding/hex"
	"strings"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

// What the program does with handles of actors: it calls methods, passes handles to
// other processes, opens those that it got, and lets go of them.

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
	first = ids.NewObject(t.first, c.self, c.info.Job, 1)
	c.submitCall(a, t)
	return first, int(t.returns), nil
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
func (c *Client) OpenActor(id ids.Actor, token, name string, limit int, site uint32) (tok ids.Object, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return tok, c.why
	}
	var oid ids.Object
	h, addr, ok := strings.Cut(token, "@")
	if token != "" {
		raw, err := hex.DecodeString(h)
		if !ok || err != nil {
			return tok, fault.New(fault.BadRequest, "malformed actor token %.100q", token)
		}
		if oid, err = ids.ParseObject(raw); err != nil {
			return tok, fault.New(fault.BadRequest, "malformed actor token: %v", err)
		}
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
		c.table.Ref(a.token)
		return a.token.ID, nil
	}
	if a.token == nil {
		a.token = c.borrow(oid, addr)
		c.table.MakeToken(a.token, a)
		c.arrived(a.token, site)
	}
	c.table.Ref(a.token)
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

// CloseActor lets go of a handle of an actor that has no token.
func (c *Client) CloseActor(id ids.Actor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.actors[id]; a != nil && a.token == nil {
		a.handles--
		if a.handles <= 0 && a.pending == 0 && a.creation == nil { // otherwise its constructor may need arguments of ours
			c.forgetActor(a)
		}
	}
}

// KillActor ends an actor at once.
func (c *Client) KillActor(id ids.Actor, noRestart bool) error {
	q := wire.ActorKill{ActorID: id[:], NoRestart: noRestart}
	if !noRestart {
		return c.call(wire.TActorKill, q, nil)
	}
	var f wire.ActorDeath
	if err := c.call(wire.TActorKill, q, &f); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.actors[id]; a != nil { // later calls of ours must not reach it any more
		c.actorDead(a, diedFault(&f), f.Error)
	}
	return nil
}
