package actors

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// One question at a time is asked of an actor, and the next incarnation is asked for by the number of the last one.
func TestResolve_ItRunsAndRestarts_EachIncarnationIsOpenedOnce(t *testing.T) {
	p := newProcess(t)
	a := p.actor()
	a.queued = 1
	a.Resolve()
	a.Resolve()
	p.wants("it is asked for twice", "where after 0")
	a.lives(1)
	a.Resolve()
	p.wants("it runs, and its socket is being opened", "open /a")
	if !a.connects() {
		t.Error("calls cannot be sent through an open socket")
	}
	a.Lost(a.sockets[0])
	a.Resolve()
	if x := a.sockets[0]; x.Number != 1 {
		t.Errorf("the socket leads to %+v", x)
	}
	conn := a.sockets[0].Conn
	if got := p.heard(); len(got) != 1 || conn == 0 || got[0] != fmtLost(1, conn) {
		t.Errorf("the socket broke: %q", got)
	}
	a.Resolve()
	p.answer(wire.ActorDeath{State: wire.ActorRestarting})
	p.wants("the incarnation has ended", "sort the calls: "+wire.ActorRestarting, "where after 1")
	a.lives(2)
	a.connects()
	p.wants("it runs again", "open /a")
	a.Lost(a.sockets[1])
	a.Resolve()
	p.answer(wire.ActorDeath{State: wire.ActorAlive})
	if got := p.heard(); got[len(got)-1] != "where after 1" {
		t.Errorf("the same incarnation lives: %q", got)
	}
	a.lives(2)
	a.connects()
	p.heard()
	a.Lost(a.sockets[2])
	a.Resolve()
	p.heard()
	a.queued = 0
	p.answer(wire.ActorDeath{State: wire.ActorRestarting})
	p.wants("nothing waits for it", "sort the calls: "+wire.ActorRestarting)
}

func fmtLost(n uint64, conn uint32) string {
	p := new(process)
	p.Request(wire.TActorLost, wire.ActorLost{Incarnation: n, Conn: conn}, nil)
	return p.notes[0]
}

// A socket that cannot be opened is one that broke.
func TestSocketOpened_Refused_ItIsAskedWhatBecameOfIt(t *testing.T) {
	p := newProcess(t)
	a := p.actor()
	a.Resolve()
	a.lives(4)
	p.heard()
	x := a.sockets[0]
	if a.SocketOpened(x, errNotHere) {
		t.Error("calls can be sent through a socket that is not open")
	}
	p.wants("it cannot be opened", fmtLost(4, x.Conn))
	p.answer(errNotHere)
	p.wants("nobody knows", "its calls fail: "+string(fault.From(errNotHere).Code))
	a.Resolve()
	p.wants("it is dead for good")
}

// What a process knows of an actor is told without a question, but for the next incarnation of one that has ended: calls do not ask for it when there are none.
func TestState_ItRunsEndsAndRestarts_IsToldWithoutAQuestion(t *testing.T) {
	p := newProcess(t)
	a := p.actor()
	says := func(when, state string) {
		t.Helper()
		if got := a.State(); got != state {
			t.Errorf("%s: it is %q, want %q", when, got, state)
		}
	}
	says("nothing was heard", "")
	p.wants("nothing was heard")
	a.Resolve()
	a.lives(1)
	a.connects()
	p.heard()
	says("it runs", wire.ActorAlive)
	p.wants("it runs")
	a.Lost(a.sockets[0])
	says("the socket broke", wire.ActorRestarting)
	p.wants("the socket broke", fmtLost(1, a.sockets[0].Conn))
	p.answer(wire.ActorDeath{State: wire.ActorRestarting})
	p.heard()
	says("the incarnation has ended", wire.ActorRestarting)
	p.wants("the incarnation has ended", "where after 1")
	says("it is asked for", wire.ActorRestarting)
	p.wants("it is asked for")
	a.lives(2)
	a.connects()
	p.heard()
	says("it runs again", wire.ActorAlive)
	a.Die(fault.New(fault.ActorDied, "killed"), nil)
	says("it is dead", wire.ActorDead)
}

// A head that does not answer says nothing about an actor, which may well live: whoever waits
// for a call is told why, the calls stay, and the head is asked again until it answers.
func TestActor_HeadDoesNotAnswer_IsAskedAgainAndTheActorStays(t *testing.T) {
	down := fault.New(fault.HeadUnavailable, "the head did not answer")
	p := newProcess(t)
	a := p.actor()
	a.queued = 1
	a.Resolve()
	p.wants("a first call", "where after 0")
	for range 3 {
		p.answer(down)
		p.wants("the head is silent", "its calls wait: the head did not answer")
		if a.Dead() != nil || a.Infeasible() == nil || a.Infeasible().Code != fault.HeadUnavailable {
			t.Errorf("it is dead for %v, its calls wait for %v", a.Dead(), a.Infeasible())
		}
		a.Resolve()
		p.wants("a further call during the pause")
		if n := p.passes(); n != 1 || p.pauses[len(p.pauses)-1] != headAgain {
			t.Errorf("%d pauses, the last of %v", n, p.pauses)
		}
		p.wants("after the pause", "where after 0")
	}
	a.lives(1)
	p.wants("the head answers", "open /a")
	if !a.connects() || a.Infeasible() != nil {
		t.Errorf("the actor cannot run for %v", a.Infeasible())
	}

	a.Lost(a.sockets[0])
	a.Resolve()
	asked := p.heard()
	if len(asked) != 1 || !strings.HasPrefix(asked[0], "what became of 1 on ") {
		t.Fatalf("the socket broke: %q", asked)
	}
	p.answer(down)
	p.wants("the head is silent when the socket broke")
	if a.Dead() != nil || p.passes() != 1 {
		t.Errorf("it is dead for %v, or nobody asks again", a.Dead())
	}
	p.wants("it is asked the same again", asked...)
	p.answer(wire.ActorDeath{State: wire.ActorRestarting})
	p.wants("it restarts", "sort the calls: RESTARTING", "where after 1")
}

// The end of an actor is waited for also when the head does not answer for a while, and nobody
// asks for an actor that is known to be dead.
func TestWatchDeath_HeadDoesNotAnswer_IsAskedAgain(t *testing.T) {
	down := fault.New(fault.HeadUnavailable, "the head did not answer")
	p := newProcess(t)
	a := p.actor()
	a.watchDeath()
	p.wants("its death is waited for", "tell of its death")
	p.answer(down)
	if p.passes() != 1 {
		t.Error("nobody asks again")
	}
	p.wants("after a pause", "tell of its death")
	p.answer(wire.ActorDeath{State: wire.ActorDead, Message: "words"})
	p.wants("it is dead", "its calls fail: actor_died")
	a.watchDeath()
	p.heard()
	p.answer(down)
	p.passes()
	p.wants("a dead actor")
}

func TestResolve_EachAnswer_DecidesForTheCalls(t *testing.T) {
	for what, c := range map[string]struct {
		answer any
		code   fault.Code
		want   []string
	}{
		"it is dead":                    {wire.ActorState{State: wire.ActorDead, Message: "words"}, fault.ActorDied, []string{"its calls fail: actor_died"}},
		"it is dead for want of memory": {wire.ActorState{State: wire.ActorDead, Cause: string(fault.OutOfMemory), Message: "words"}, fault.OutOfMemory, []string{"its calls fail: " + string(fault.OutOfMemory)}},
		"nobody knows it":               {fault.New(fault.NotFound, "no actor"), fault.NotFound, []string{"its calls fail: " + string(fault.NotFound)}},
		"no node can run it for now":    {wire.ActorState{State: wire.ActorUnschedulable, Message: "no GPU"}, "", []string{"its calls wait: no GPU"}},
	} {
		p := newProcess(t)
		a := p.actor()
		a.Resolve()
		p.heard()
		p.answer(c.answer)
		p.wants(what, c.want...)
		if d := a.Dead(); c.code == "" && d != nil || c.code != "" && (d == nil || d.Code != c.code) {
			t.Errorf("%s: it is dead for %v", what, d)
		}
		if bad := a.Infeasible(); (bad != nil) != (c.code == "") {
			t.Errorf("%s: it cannot run for %v", what, bad)
		}
		if a.Resolve(); c.code == "" {
			p.wants(what+", later", "where after 0")
			a.lives(1)
			if a.Infeasible() != nil {
				t.Errorf("%s: it runs, and %v", what, a.Infeasible())
			}
		}
	}
	p := newProcess(t)
	a := p.actor()
	a.Resolve()
	p.End()
	p.heard()
	a.lives(1)
	a.Resolve()
	p.wants("the session has ended")
}

// A handle may be quicker than the registration by the actor's creator. While the creator lives it is waited for.
func TestResolve_NotRegisteredYet_AsksAgainAfterGrowingPauses(t *testing.T) {
	p := newProcess(t)
	p.known = true
	a := p.unheld()
	a.SetToken(p.objects.Borrow(ids.NewObject(3, ids.Owner{9}, ids.JobOf(1), 0), "/creator"))
	a.Resolve()
	for range 8 {
		p.answer(fault.New(fault.NotFound, "no actor"))
		if len(p.later) != 1 {
			t.Fatalf("%d timers", len(p.later))
		}
		f := p.later[0]
		p.later = nil
		a.Resolve() // asks nothing before its time
		f()
	}
	ms := time.Millisecond
	if want := []time.Duration{ms, 3 * ms, 7 * ms, 15 * ms, 31 * ms, 50 * ms, 50 * ms, 50 * ms}; !slices.Equal(p.pauses, want) {
		t.Errorf("pauses %v, want %v", p.pauses, want)
	}
	if got := p.heard(); len(got) != 9 {
		t.Errorf("asked %d times: %q", len(got), got)
	}
	p.known = false
	p.answer(fault.New(fault.NotFound, "no actor"))
	p.wants("the creator is gone", "its calls fail: "+string(fault.NotFound))
}

func TestDie_TheFirstReasonStays(t *testing.T) {
	p := newProcess(t)
	a := p.actor()
	a.Killed(&wire.ActorDeath{State: wire.ActorDead, Message: "it was killed", Error: []byte("e")})
	a.Die(fault.New(fault.OutOfMemory, "later"), []byte("f"))
	p.wants("it is told of twice", "its calls fail: actor_died", "its calls fail: actor_died")
	if env, stored := a.Exception(); a.Dead().Message != "it was killed" || string(env) != "e" || stored != nil {
		t.Errorf("it is dead for %v, %q", a.Dead(), env)
	}
}

func TestUnavailable_NamesMemory(t *testing.T) {
	for cause, want := range map[fault.Code]fault.Code{"": fault.ActorUnavailable, fault.OutOfMemory: fault.OutOfMemory, fault.GPUMemoryExceeded: fault.GPUMemoryExceeded, fault.ActorDied: fault.ActorUnavailable} {
		if f := Unavailable(&wire.ActorDeath{Cause: string(cause), Message: "words"}); f.Code != want || f.Message != "words" {
			t.Errorf("%q: %v", cause, f)
		}
	}
}
