package calls

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/actorclass"
	"github.com/eagleray/eagleray/core/internal/actors"
	"github.com/eagleray/eagleray/core/internal/envelope"
	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// NewActor registers an actor; the program gets one handle. For a named actor it waits
// for the head's answer; existing is what GetIfExists found.
func (x *Calls) NewActor(s *actors.Spec, args *envelope.Value, deps []ids.Object) (id ids.Actor, existing *wire.ActorNamed, err error) {
	if err := s.Check(); err != nil {
		return id, nil, err
	}
	total := args.Size()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.objects.Closed() {
		return id, nil, x.objects.Why()
	}
	tm := submit.ConstructorOf(s)
	t, err := x.newTask(tm, &Call{Args: *args, Deps: deps}, total)
	if err != nil {
		return id, nil, err
	}
	a := x.submit.NewActor(s, t, tm, args.Site)
	code := s.CodeObjects()
	if s.Name == "" && len(code) == 0 {
		a.RegisterWhenReady()
		return a.ID, nil, nil
	}
	// A name must be taken before this returns. The class of an actor that may
	// outlive this process must be given away before. Neither waits for the
	// constructor's arguments: the worker asks their owners itself.
	req := a.Announce()
	existing, err = x.announceActor(req, code)
	if err != nil || existing != nil {
		a.Withdraw()
		return a.ID, existing, err
	}
	a.Resolve()
	return a.ID, nil, nil
}

// announceActor registers an actor, with the code of its classes, and waits for the answer. The mutex is held, and released
// meanwhile.
func (x *Calls) announceActor(req *wire.ActorCreate, code [][]byte) (existing *wire.ActorNamed, err error) {
	x.mu.Unlock()
	defer x.mu.Lock()
	if existing, err = actorclass.Give((*creator)(x), req, code); err != nil || existing != nil {
		return existing, err
	}
	var got wire.ActorCreated
	if err = x.objects.CallDaemon(wire.TActorCreate, req, &got); len(code) > 0 && (err != nil || got.Existing != nil) {
		x.objects.PushDaemon(wire.TCodeDrop, wire.ActorRef{ActorID: req.ActorID})
	}
	return got.Existing, err
}
