package actors

import (
	"encoding/hex"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// The creation of an actor. Its creator registers it with the head when the
// constructor's arguments are ready, and keeps what these arguments refer to for as
// long as the constructor may run: until it has ended, or, if the actor may restart,
// until the actor is dead for good.

// Create makes the actor one of this process, which is to be registered, with one handle.
func (a *Actor) Create(s *Spec, k Constructor, site uint32) {
	x := a.of
	req := s.ActorCreate
	req.ActorID, req.OwnerID, req.OwnerAddr, req.JobID = a.ID[:], x.Self[:], x.Addr, x.Job[:]
	if s.Detached {
		a.handles = 1
	} else {
		a.token = x.objects.New(0, 1)
		x.objects.MakeToken(a.token, a.calls)
		a.token.SetSite(site)
		x.objects.Reserve(1) // see raised.go
		req.Token = hex.EncodeToString(a.token.ID[:]) + "@" + x.Addr
	}
	if req.Namespace == "" {
		req.Namespace = x.Namespace
	}
	for i, c := range s.Classes {
		if len(c.FID) > 0 {
			t := frame.Template{Kind: frame.KindTask, Name: req.Fallback[i].ClassName, FID: c.FID, Blob: c.Blob, Once: true}
			if t.Blob == nil { // the code of a large class is elsewhere, and its worker asks for it
				t.Blob = []byte{}
			}
			req.Fallback[i].Template = frame.AppendTemplate(nil, &t)
		}
	}
	a.creation = &creation{constructor: k, request: &req}
}

// Announce returns the registration of an actor, for the caller to send now.
func (a *Actor) Announce() *wire.ActorCreate {
	b := a.creation
	b.request.Spec = b.constructor.Spec()
	b.announced = true
	if len(b.request.Fallback) > 0 {
		a.of.fx.MakeRoom()
	}
	return b.request
}

// Withdraw forgets an actor that was not registered.
func (a *Actor) Withdraw() {
	if a.token != nil {
		a.of.objects.EndToken(a.token)
		a.of.objects.Unref(a.token, 1)
	}
	a.forgotten = true
	a.calls.Forget()
	a.creation.constructor.Release()
}

// RegisterWhenReady registers an actor when its constructor's arguments are ready.
func (a *Actor) RegisterWhenReady() {
	if a.creation.constructor.Await(a.register) {
		a.asking = true
		return
	}
	a.register()
}

// register sends the registration when the arguments are ready. The end of a session ends all
// waits, also the one for the arguments. Then nothing is registered any more.
func (a *Actor) register() {
	if a.of.ended {
		return
	}
	a.asking = true // nobody knows the actor before the answer
	a.of.fx.Request(wire.TActorCreate, a.Announce(), func(_ *wire.Message, err error) {
		a.asking = false
		if err != nil {
			a.Die(fault.From(err), nil)
			a.constructorEnded()
			return
		}
		a.Resolve()
	})
}
