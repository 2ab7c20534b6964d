package actors

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/envelope"
)

// The head keeps why an actor died, with the exception of its constructor. A large
// exception does not go there. The actor's worker writes it to the store, as an object
// of the process that created the actor, which has set a count aside for it: the one
// after the count of the actor's token. The head keeps where the object is, and a
// short form of the exception. The creator keeps the object for as long as somebody
// has a handle of the actor.
//
// No process owns a detached actor, so of its exception there is the short form only.

// RaisedID is the object that an actor's constructor may write its exception to.
func RaisedID(token ids.Object) ids.Object {
	var job ids.Job
	copy(job[:], token[20:24])
	return ids.NewObject(token.Count()+1, token.Owner(), job, 1)
}

// keepRaised keeps the exception of a dead actor's constructor, if it lies in the store.
func (a *Actor) keepRaised() {
	p, err := envelope.PointerIn(a.deadEnv)
	if p == nil || err != nil || a.token == nil || p.ID != RaisedID(a.token.ID) {
		return
	}
	objects := a.of.objects
	o := objects.Find(p.ID)
	switch {
	case o != nil:
	case p.ID.Owner() == a.of.Self:
		o = objects.Place(p.ID.Count(), p.ID.Index())
		objects.PutStored(o, p.Size, true)
		o.SetOrigin(a.token.Site(), a.token.Maker())
	default:
		o = objects.Borrow(p.ID, p.Owner)
	}
	objects.Pin(o)
	o.MarkSeen() // whoever calls the actor is told
	a.raised = o
}

// dropRaised lets go of the constructor's exception.
func (a *Actor) dropRaised() {
	if o := a.raised; o != nil {
		a.raised = nil
		a.of.objects.Unpin(o)
		a.of.objects.CarryOut()
	}
}
