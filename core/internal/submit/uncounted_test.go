package submit

import (
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/actors"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// uncounted is a process with a handle of an actor that has no token. Its actors' pauses end when the test says so.
type uncounted struct {
	*quiet
	pauses *pauses
	t      *testing.T
	tm     *Template
	id     ids.Actor
}

// pauses keeps the pauses that actors ask for.
type pauses struct {
	actors.Effects
	late []func()
}

// Later implements actors.Effects.
func (p *pauses) Later(_ time.Duration, f func()) { p.late = append(p.late, f) }

// newUncounted returns such a process, whose lock the test holds.
func newUncounted(t *testing.T) *uncounted {
	q := newQuiet(t)
	u := &uncounted{quiet: q, pauses: &pauses{Effects: (*actorEffects)(&q.Submitter)}, t: t, tm: &Template{Kind: frame.KindMethod, Name: "A.m", Method: "m", Returns: 1}}
	u.actors.Join(u.actors.Process, u.table, u.pauses)
	u.mu.Lock()
	t.Cleanup(u.mu.Unlock)
	if _, err := u.NewTemplate(u.tm); err != nil {
		t.Fatal(err)
	}
	u.id = ids.NewActor(u.Job)
	u.opens()
	return u
}

// opens makes a handle without a token.
func (u *uncounted) opens() *Actor {
	a := u.OpenActor(u.id, "A", 0)
	a.CountHandle(false)
	return a
}

// calls submits a call of the actor.
func (u *uncounted) calls() *Task {
	u.t.Helper()
	a, err := u.Callable(u.id)
	if err != nil {
		u.t.Fatal(err)
	}
	k := u.NewCall(u.tm, 0, 0)
	u.MakeReturns(k, 0)
	u.SubmitCall(a, k)
	return k
}

// ends ends a call, which was not sent.
func (u *uncounted) ends(k *Task) { u.takeOut(k) }

// pass lets the pauses pass that were asked for until now, and returns their number.
func (p *pauses) pass() int {
	list := p.late
	p.late = nil
	for _, f := range list {
		f()
	}
	return len(list)
}

// counted makes a handle with a token, which another process owns.
func (u *uncounted) counted() *refs.Object {
	u.t.Helper()
	token := u.table.Borrow(ids.NewObject(7, ids.Owner{9}, u.Job, 1), "/other")
	a := u.OpenActor(u.id, "A", 0)
	if _, counted := a.CountHandle(true); counted {
		u.t.Fatal("the handle with a token is counted beside those without")
	}
	a.SetToken(token)
	return token
}

// A token that comes while calls are open is held by each of them until its end, and by none afterwards.
func TestSetToken_CallsOfAnUncountedHandleAreOpen_EachHoldsTheToken(t *testing.T) {
	u := newUncounted(t)
	first, second := u.calls(), u.calls()
	u.CloseActor(u.id)
	token := u.counted()
	for i, end := range []func(){func() {}, func() { u.ends(first) }, func() { u.ends(second) }} {
		end()
		if n := token.Pins(); int(n) != 2-i {
			t.Errorf("%d of 2 calls have ended, and the token is held %d times", i, n)
		}
	}
	u.table.Unref(token, 1)
	u.table.CarryOut()
	if u.Actors[u.id] != nil {
		t.Error("the row of the actor stays when its last handle has gone")
	}
}

// An actor stays until its last call has ended, also when calls were open before its token came.
func TestSetToken_HandleDroppedDuringALaterCall_TheActorStays(t *testing.T) {
	u := newUncounted(t)
	first := u.calls()
	u.CloseActor(u.id)
	token := u.counted()
	u.ends(first)
	later := u.calls()
	u.table.Unref(token, 1)
	u.table.CarryOut()
	if a := u.Actors[u.id]; a == nil || a.Pending != 1 {
		t.Fatalf("a call is open, and the row of the actor is %+v", a)
	}
	u.ends(later)
	if u.Actors[u.id] != nil {
		t.Error("the row of the actor stays when its handles and its calls have gone")
	}
}

// A handle that goes while a call is open leaves the row to the call, and after a pause the row goes.
func TestCallEnded_LastCallAfterTheLastHandle_RowGoes(t *testing.T) {
	u := newUncounted(t)
	a := u.Actors[u.id]
	first, second := u.calls(), u.calls()
	a.Channel = withPipe(NewChannel(&u.Submitter, "/actor"), new(silentPipe))
	o := a.Channel
	u.CloseActor(u.id)
	u.ends(first)
	if n := u.pauses.pass(); n != 0 || u.Actors[u.id] != a {
		t.Fatalf("a call is open: %d timers, the row %+v", n, u.Actors[u.id])
	}
	u.ends(second)
	if u.Actors[u.id] != a {
		t.Error("the row goes at once, so the next call opens a socket again")
	}
	if n := u.pauses.pass(); n != 1 || u.Actors[u.id] != nil || !o.Closed() {
		t.Errorf("after the pause of %d timers the row is %+v, its socket is closed: %v", n, u.Actors[u.id], o.Closed())
	}
}

// Whoever uses the actor within the pause finds its row, and the pause begins again.
func TestCallEnded_ActorIsUsedWithinThePause_RowStays(t *testing.T) {
	u := newUncounted(t)
	a := u.Actors[u.id]
	k := u.calls()
	u.CloseActor(u.id)
	u.ends(k)
	for range 3 { // the handle goes before the answer comes
		u.opens()
		k = u.calls()
		u.CloseActor(u.id)
		u.ends(k)
	}
	if n := u.pauses.pass(); n != 1 || u.Actors[u.id] != a {
		t.Errorf("calls have ended within the pause: %d timers, the row %+v", n, u.Actors[u.id])
	}
	u.opens()
	if n := u.pauses.pass(); n != 1 || u.Actors[u.id] != a {
		t.Errorf("there is a handle: %d timers, the row %+v", n, u.Actors[u.id])
	}
	k = u.calls()
	u.CloseActor(u.id)
	if n := u.pauses.pass(); n != 0 || u.Actors[u.id] != a {
		t.Errorf("a call is open: %d timers, the row %+v", n, u.Actors[u.id])
	}
	u.ends(k)
	token := u.counted()
	if n := u.pauses.pass(); n != 1 || u.Actors[u.id] != a {
		t.Errorf("there is a token: %d timers, the row %+v", n, u.Actors[u.id])
	}
	u.table.Unref(token, 1)
	u.table.CarryOut()
	if n := u.pauses.pass(); n != 0 || u.Actors[u.id] != nil {
		t.Errorf("the token has gone: %d timers, the row %+v", n, u.Actors[u.id])
	}
}

// A timer leaves a row alone that is another one's by then.
func TestCallEnded_AnotherRowWhenThePauseEnds_ThatRowStays(t *testing.T) {
	u := newUncounted(t)
	k := u.calls()
	u.CloseActor(u.id)
	u.ends(k)
	u.opens()
	u.CloseActor(u.id)
	if u.Actors[u.id] != nil {
		t.Fatal("no call is open, and the row does not go with the handle")
	}
	b := u.opens()
	if n := u.pauses.pass(); n != 1 || u.Actors[u.id] != b {
		t.Errorf("%d timers, and the new row is %+v", n, u.Actors[u.id])
	}
}

// A timer that fires after the end of its session does nothing.
func TestCallEnded_SessionEndsWithinThePause_NothingHappens(t *testing.T) {
	u := newUncounted(t)
	a := u.Actors[u.id]
	k := u.calls()
	u.CloseActor(u.id)
	u.ends(k)
	u.End(fault.New(fault.Closed, "the test is over"))
	if n := u.pauses.pass(); n != 1 || a.Forgotten() {
		t.Errorf("%d timers, the row is forgotten: %v", n, a.Forgotten())
	}
}

// An actor without a token lives on when nobody here has a handle of it, so it makes a lost result again.
func TestRecompute_RowOfAnUncountedActorWasForgotten_ItIsCalledAgain(t *testing.T) {
	u := newUncounted(t)
	u.tm.MaxRetries = 2
	a := u.Actors[u.id]
	a.grouped = true
	k := u.calls()
	o := u.table.FindOwned(k.First)
	u.table.PutStored(o, 9, false)
	k.stored = true
	a.Queue.Remove(k)
	u.CloseActor(u.id)
	u.endTask(k)
	u.pauses.pass()
	if u.Actors[u.id] != nil || !o.Recomputable() {
		t.Fatalf("the row is %+v, the result can be computed again: %v", u.Actors[u.id], o.Recomputable())
	}
	u.table.VerifyCopy(o)
	u.table.Checked([]*refs.Object{o}, [][]byte{o.ID[:]}, nil)
	b := u.Actors[u.id]
	if b == nil || b == a || b.Pending != 1 || !b.grouped || b.Queue.Len() != 1 {
		t.Fatalf("the actor's row is %+v, its result is in state %v", b, o.State())
	}
	u.ends(b.Queue.First())
	if n := u.pauses.pass(); n != 1 || u.Actors[u.id] != nil {
		t.Errorf("the second run has ended: %d timers, the row %+v", n, u.Actors[u.id])
	}
}
