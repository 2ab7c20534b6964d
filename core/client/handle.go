package client

import (
	"encoding/hex"
	"strings"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

// handlesGone: the token died, nobody can call the actor any more.
func (c *submitter) handlesGone(a *actor) {
	if a.token.Owned() { // a borrowed token is given back by the table
		c.fx.Push(wire.TActorRelease, wire.ActorRef{ActorID: a.id[:]})
	}
	c.forgetActor(a)
}

func (c *submitter) forgetActor(a *actor) {
	delete(c.actors, a.id)
	c.runsNoMore(a)
	c.dropRaised(a)
	if a.conn != nil {
		a.conn.Flush()
		a.conn.Close()
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

// CloseActor lets an uncounted handle go.
func (c *Client) CloseActor(id ids.Actor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.actors[id]; a != nil && a.token == nil {
		a.handles--
		if a.handles <= 0 && a.pending == 0 && a.birth == nil { // else its constructor may need arguments of ours
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
