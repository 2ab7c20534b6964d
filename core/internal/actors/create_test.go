package actors

import (
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// An actor is registered when the constructor's arguments are ready. What they refer to is kept until
// the constructor has ended, or until the actor is dead when the constructor may run again.
func TestCreate_UntilTheConstructorHasEnded(t *testing.T) {
	for what, c := range map[string]struct {
		restarts     int
		holds        bool
		unregistered bool
		want         []string
		again        bool
	}{
		"once":                                  {0, true, false, []string{"open /a", "release its arguments", "its creation has ended"}, false},
		"its worker registers references late":  {0, true, true, []string{"open /a", "retain for /a", "release its arguments", "its creation has ended"}, false},
		"it may run again":                      {-1, true, true, []string{"open /a", "retain for /a", "tell of its death"}, true},
		"it may run again, and nothing is held": {2, false, false, []string{"open /a", "release its arguments", "its creation has ended"}, false},
	} {
		p := newProcess(t)
		k := &taken{holds: c.holds, late: true}
		s := &Spec{ActorCreate: wire.ActorCreate{MaxRestarts: c.restarts}}
		a := p.made(s, k)
		a.RegisterWhenReady()
		a.Resolve()
		p.wants(what + ": an argument is late")
		if !a.NeedsCreator() {
			t.Errorf("%s: before its registration it does not need its creator", what)
		}
		k.ready()
		p.wants(what, "register A")
		a.Resolve()
		p.answer(wire.ActorCreated{})
		p.wants(what+": it is registered", "where after 0")
		if a.NeedsCreator() {
			t.Errorf("%s: it takes nothing, and needs its creator", what)
		}
		k.takes = true
		if !a.NeedsCreator() {
			t.Errorf("%s: its arguments are here, and it does not need its creator", what)
		}
		p.answer(wire.ActorState{State: wire.ActorAlive, Incarnation: 1, Addr: "/a", Unregistered: c.unregistered})
		p.wants(what+": it runs", c.want...)
		if got, _ := a.Creation(); (got != nil) != c.again {
			t.Errorf("%s: its creation is kept: %v", what, got != nil)
		}
		if !c.again {
			continue
		}
		if a.NeedsCreator() {
			t.Errorf("%s: it ends with the handles of this process, and needs its creator", what)
		}
		p.answer(wire.ActorDeath{State: wire.ActorDead, Message: "it died"})
		p.wants(what+": it is dead", "its calls fail: actor_died", "release its arguments", "its creation has ended")
	}
}

func TestRegister_Refused_CallsSayWhyAndNothingIsKept(t *testing.T) {
	p := newProcess(t)
	a := p.made(new(Spec), &taken{holds: true})
	a.RegisterWhenReady()
	p.answer(fault.New(fault.BadRequest, "no"))
	p.wants("it is refused", "register A", "its calls fail: bad_request", "release its arguments", "its creation has ended")
	p = newProcess(t)
	k := &taken{late: true}
	a = p.made(new(Spec), k)
	a.RegisterWhenReady()
	p.End()
	k.ready()
	p.wants("the session has ended")
	p.notes = nil
	if a.Dead() != nil {
		t.Error("the end of a session is taken for the actor's death")
	}
}

func TestAnnounce_TheRegistrationSaysWhoCreatesIt(t *testing.T) {
	p := newProcess(t)
	s := &Spec{ActorCreate: wire.ActorCreate{Fallback: []wire.Alternative{{ClassName: "B"}, {ClassName: "C"}}}, Classes: []Code{{FID: []byte("sixteen bytes id")}}}
	a := p.made(s, new(taken))
	q := a.Announce()
	p.wants("it has alternatives", "make room")
	token := a.Token()
	if string(q.OwnerID) != string(p.Self[:]) || q.OwnerAddr != "/own" || q.Namespace != "ours" || string(q.Spec) != "spec" || q.Token != token.ID.String()+"@/own" || token.Site() != 5 || token.Source() != a {
		t.Errorf("%+v, token %+v", q, token)
	}
	if len(q.Fallback[0].Template) == 0 || q.Fallback[1].Template != nil || p.objects.Peek() != token.ID.Count()+2 {
		t.Errorf("the alternatives %+v, the next object %d after the token %d", q.Fallback, p.objects.Peek(), token.ID.Count())
	}
	a.Withdraw()
	p.objects.CarryOut()
	p.wants("it is not registered", "its row goes", "release its arguments")
	if p.objects.Find(token.ID) != nil || !a.Forgotten() {
		t.Error("something is left of it")
	}
	d := p.made(&Spec{ActorCreate: wire.ActorCreate{Detached: true, Namespace: "mine"}}, new(taken))
	if q := d.Announce(); q.Token != "" || q.Namespace != "mine" || d.Handles() != 1 || d.Token() != nil {
		t.Errorf("a detached actor: %+v, %d handles", q, d.Handles())
	}
	p.wants("it has none")
}

// An actor without a token is forgotten with its last handle, unless a call or its constructor is under way.
func TestCloseHandle_WhatKeepsAnActor(t *testing.T) {
	p := newProcess(t)
	a := p.actor()
	a.CountHandle(false)
	if token, counted := a.CountHandle(true); token != nil || !counted || a.Handles() != 3 {
		t.Errorf("a handle with a token, beside others: %v, %v, %d handles", token, counted, a.Handles())
	}
	a.CloseHandle()
	a.CloseHandle()
	p.wants("a handle is left")
	a.open = 1
	a.CloseHandle()
	p.wants("a call is open")
	a.open = 0
	a.CallEnded()
	p.wants("its last call has ended, and the next may follow")
	p.passes()
	p.wants("no call has followed", "its row goes")
	a.CallEnded()
	if p.passes() != 0 {
		t.Error("a row that is gone has a timer")
	}

	a = p.actor()
	a.CloseHandle()
	p.wants("nothing leads to it", "its row goes")

	k := new(taken)
	a = p.made(&Spec{ActorCreate: wire.ActorCreate{Detached: true}}, k)
	a.RegisterWhenReady()
	a.CloseHandle()
	p.wants("it is being created", "register A")
	a.CallEnded()
	if p.passes() != 0 {
		t.Error("an actor that is being created has a timer")
	}
	p.answer(wire.ActorCreated{})
	a.lives(1)
	p.wants("its constructor has ended", "where after 0", "open /a", "release its arguments", "its row goes", "its creation has ended")
}

// The handles of an actor with a token are references to it. With the last one the actor ends.
func TestHandlesGone_TheCreatorEndsTheActor(t *testing.T) {
	p := newProcess(t)
	a := p.made(&Spec{ActorCreate: wire.ActorCreate{MaxRestarts: 1}}, &taken{holds: true})
	a.RegisterWhenReady()
	p.answer(wire.ActorCreated{})
	a.lives(1)
	p.heard()
	token, counted := a.CountHandle(true)
	if token != a.Token() || !counted || token.Local() != 2 {
		t.Fatalf("a second handle: %v, %v", token, counted)
	}
	a.HoldCall()
	p.objects.Unref(token, 2)
	p.objects.CarryOut()
	a.CloseHandle() // does not count
	p.wants("a call is open")
	a.CallEnded()
	p.wants("nothing leads to it", "push wire.ActorRef", "its row goes", "release its arguments", "its creation has ended")
}

func TestCountHandle_FirstWithAToken_TheTokenFollows(t *testing.T) {
	p := newProcess(t)
	a := p.unheld()
	if token, counted := a.CountHandle(true); token != nil || counted {
		t.Fatalf("%v, %v", token, counted)
	}
	token := p.objects.New(0, 0)
	a.SetToken(token)
	if token.Source() != a || token.Local() != 1 || !token.IsToken() {
		t.Errorf("the token %+v", token)
	}
}
