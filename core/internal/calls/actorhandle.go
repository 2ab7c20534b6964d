package calls

import (
	"encoding/hex"
	"strings"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// What the program does with handles of actors: it calls methods, passes handles to
// other processes, opens those that it got, and lets go of them.

// CallActor submits a method call.
func (x *Calls) CallActor(id ids.Actor, call *Call) (first ids.Object, returns int, err error) {
	total := call.Args.Size()
	x.mu.Lock()
	defer x.mu.Unlock()
	a, err := x.submit.Callable(id)
	if err != nil {
		return first, 0, err
	}
	tm, err := x.submit.TemplateOf(call.Template)
	if err != nil {
		return first, 0, err
	}
	t, err := x.newTask(tm, call, total)
	if err != nil {
		return first, 0, err
	}
	x.submit.SubmitCall(a, t)
	first, returns = x.submit.ReturnsOf(t)
	return first, returns, nil
}

// ActorToken returns what another process needs to count its handle: the
// token's id and its owner's address, "" when the actor is not counted.
func (x *Calls) ActorToken(id ids.Actor) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	o := x.submit.Token(id)
	if o == nil {
		return ""
	}
	return hex.EncodeToString(o.ID[:]) + "@" + x.table.AddrOf(o)
}

// OpenActor makes a handle of an actor that another process, or its name, gave us.
// It returns the id of the counting token, for Release; zero when not counted.
func (x *Calls) OpenActor(id ids.Actor, token, name string, limit int, site uint32) (tok ids.Object, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.objects.Closed() {
		return tok, x.objects.Why()
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
	a := x.submit.OpenActor(id, name, limit)
	if o, had := a.CountHandle(token != ""); had {
		if o == nil {
			return tok, nil
		}
		return o.ID, nil
	}
	o := x.table.Borrow(oid, addr)
	a.SetToken(o)
	x.objects.Arrived(o, site)
	return oid, nil
}

// ActorTokenID returns the token's id of an actor that this process created or opened.
func (x *Calls) ActorTokenID(id ids.Actor) (tok ids.Object) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if o := x.submit.Token(id); o != nil {
		tok = o.ID
	}
	return tok
}

// ActorState is what this process knows of an actor that it has a handle of, see actors.Actor.State.
func (x *Calls) ActorState(id ids.Actor) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.submit.ActorState(id)
}

// CloseActor lets go of a handle of an actor that has no token.
func (x *Calls) CloseActor(id ids.Actor) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.submit.CloseActor(id)
}

// KillActor ends an actor at once.
func (x *Calls) KillActor(id ids.Actor, noRestart bool) error {
	q := wire.ActorKill{ActorID: id[:], NoRestart: noRestart}
	if !noRestart {
		return x.objects.CallDaemon(wire.TActorKill, q, nil)
	}
	var f wire.ActorDeath
	if err := x.objects.CallDaemon(wire.TActorKill, q, &f); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.submit.ActorKilled(id, &f)
	return nil
}
