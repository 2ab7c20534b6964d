package client

import (
	"encoding/hex"
	"strings"

	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

// The head keeps why an actor died, with the exception of its constructor. A large
// exception does not go there. The actor's worker writes it to the store, as an object
// of the process that created the actor, which has set a count aside for it: the one
// after the count of the actor's token. The head keeps where the object is, and a
// short form of the exception. The creator keeps the object for as long as somebody
// has a handle of the actor.
//
// No process owns a detached actor, so of its exception there is the short form only.

// raisedID is the object that an actor's constructor may write its exception to.
func raisedID(token ids.Object) ids.Object {
	var job ids.Job
	copy(job[:], token[20:24])
	return ids.NewObject(token.Count()+1, token.Owner(), job, 1)
}

// keepRaised keeps the exception of a dead actor's constructor, if it lies in
// the store; mu held.
func (c *submitter) keepRaised(a *actor) {
	p, err := pointerIn(a.deadEnv)
	if p == nil || err != nil || a.token == nil || p.ID != raisedID(a.token.ID) {
		return
	}
	o := c.table.Find(p.ID)
	switch {
	case o != nil:
	case p.ID.Owner() == c.self:
		o = c.table.Place(p.ID.Count(), p.ID.Index())
		c.table.PutStored(o, p.Size, true)
		o.SetOrigin(a.token.Site(), a.token.Maker())
	default:
		o = c.table.Borrow(p.ID, p.Owner)
	}
	c.table.Pin(o)
	o.MarkSeen() // whoever calls the actor is told
	a.raised = o
}

// dropRaised lets go of the constructor's exception; mu held.
func (c *submitter) dropRaised(a *actor) {
	if o := a.raised; o != nil {
		a.raised = nil
		c.table.Unpin(o)
		c.table.CarryOut()
	}
}

// constructorRaised writes the exception to the store and returns what the
// cluster's state is to keep; mu held, released meanwhile.
func (c *Client) constructorRaised(s *wire.ActorStart, v *Value, brief []byte) Value {
	short := Value{Fmt: FmtError, Meta: brief}
	text, addr, counted := strings.Cut(s.Token, "@")
	raw, err := hex.DecodeString(text)
	if err != nil || !counted {
		return short
	}
	token, err := ids.ParseObject(raw)
	if err != nil {
		return short
	}
	id := raisedID(token)
	total, _ := v.layout()
	c.mu.Unlock()
	err = c.storeResult(id, v, total, false, nil)
	c.mu.Lock()
	if err != nil {
		return short
	}
	return pointTo(&frame.Pointer{ID: id, Owner: addr, Size: uint64(total), Brief: brief})
}
