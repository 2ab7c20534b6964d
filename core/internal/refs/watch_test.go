package refs

import (
	"math"
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/wire"
)

var noNode = fault.New(fault.TaskUnschedulable, "no node has it")

// recorded returns an empty table whose effects are noted.
func recorded() (*Table, *recorder) {
	r := new(recorder)
	return NewTable(ids.NewWorkerOn(1).Owner(), ids.JobOf(1), "own", r), r
}

func expectEffects(t *testing.T, r *recorder, want ...string) {
	t.Helper()
	if !slices.Equal(r.seen, want) {
		t.Errorf("the effects are %q, want %q", r.seen, want)
	}
	r.seen = nil
}

// everyKind has a wait, a task and a borrower wait for the object.
func everyKind(tb *Table, o *Object) *wait.Wait {
	w := wait.New().For(1, 1, false)
	tb.WatchAll(w, []*Object{o})
	tb.WatchBy(o, job(7))
	tb.Question(o, &wire.Message{ID: 8})
	return w
}

func TestComplete_EveryKindWaits_ToldOnceAndInOrder(t *testing.T) {
	tb, r := recorded()
	o := tb.New(1, 1)
	everyKind(tb, o)
	tb.Complete(o, Inline, []byte("v"), 1, false)
	expectEffects(t, r, "wake", "task 7 ready", "reply 8: state 3")
	tb.Complete(o, Inline, []byte("w"), 1, false)
	tb.Fail(o, noNode)
	tb.Infeasible(o, noNode)
	expectEffects(t, r)
	if o.Watched() || string(o.Value()) != "v" {
		t.Errorf("it has the value %q, and is watched: %v", o.Value(), o.Watched())
	}
}

// An object gets its value once. What comes later changes nothing.
func TestComplete_SecondValueOrFault_ChangesNothing(t *testing.T) {
	tb, _ := recorded()
	a, b := tb.New(1, 1), tb.New(2, 1)
	a.SetSource(job(1))
	b.SetSource(job(1))
	tb.Complete(a, Inline, []byte("first"), 5, true)
	tb.Complete(a, Inline, []byte("second"), 6, false)
	tb.Fail(a, noNode)
	if a.State() != Inline || string(a.Value()) != "first" || a.Size() != 5 || !a.IsError() || a.Fault() != nil || a.Source() != nil {
		t.Errorf("%+v", a)
	}
	why := fault.New(fault.WorkerCrashed, "early")
	b.SetFaultEnvelope([]byte("half"))
	tb.Fail(b, why)
	tb.Complete(b, Inline, []byte("late"), 4, false)
	tb.Fail(b, noNode)
	if b.State() != Failed || b.Fault() != why || b.Value() != nil || !b.IsError() || b.Source() != nil {
		t.Errorf("%+v", b)
	}
}

// Tasks go on waiting for an infeasible object. Waits and borrowers have their
// answer, and a second reason is not told to them.
func TestInfeasible_TwiceAndThenReady_WaitsCountItOnce(t *testing.T) {
	tb, r := recorded()
	o := tb.New(1, 1)
	w := everyKind(tb, o)
	tb.Infeasible(o, noNode)
	expectEffects(t, r, "wake", "task 7 infeasible: no node has it", "reply 8: state 1")
	tb.Infeasible(o, fault.New(fault.TaskUnschedulable, "still"))
	expectEffects(t, r)
	if o.Fault().Message != "still" || !w.Over() {
		t.Errorf("the reason is %q, the wait is over: %v", o.Fault().Message, w.Over())
	}
	tb.UnwatchAll(w)
	tb.Complete(o, Stored, nil, 9, false)
	expectEffects(t, r, "task 7 ready")
}

// An infeasible object that can become ready after all counts again, in a wait
// with an id and in one that is in the object's watch.
func TestFeasible_OneOfTwoObjects_WaitsGoOn(t *testing.T) {
	tb, r := recorded()
	a, b := tb.New(1, 1), tb.New(2, 1)
	for range 2 {
		tb.WatchAll(wait.New().For(1, 2, false), []*Object{a, b})
	}
	tb.Infeasible(a, noNode)
	tb.Feasible(a)
	tb.Feasible(b) // it is pending, so it is not counted twice
	tb.Infeasible(b, noNode)
	expectEffects(t, r)
	if a.State() != Pending || a.Fault() != nil {
		t.Errorf("state %d, fault %v", a.State(), a.Fault())
	}
	tb.Complete(a, Inline, nil, 0, false)
	expectEffects(t, r, "wake", "wake")
}

// Ids of waits begin again after the last one, without the id that stands for no wait.
func TestWatchAll_IdsAreUsedUp_TheyBeginAgain(t *testing.T) {
	tb, r := recorded()
	tb.lastWait = math.MaxUint32 - 1
	for range 3 {
		a, b := tb.New(1, 1), tb.New(2, 1)
		w := wait.New().For(1, 2, false)
		tb.WatchAll(w, []*Object{a, b})
		if a.waitID == 0 || a.waitID != b.waitID {
			t.Errorf("the objects have the ids %d and %d", a.waitID, b.waitID)
		}
		tb.Complete(b, Inline, nil, 0, false)
		expectEffects(t, r, "wake")
		tb.UnwatchAll(w)
	}
}

// The id of a wait that has ended makes room for the next wait. Waits that find
// the id of another wait leave nothing behind in the object.
func TestUnwatchAll_InAnyOrder_LeavesNothingBehind(t *testing.T) {
	tb, r := recorded()
	o := tb.New(1, 1)
	waits := []*wait.Wait{wait.New().For(1, 1, false), wait.New().For(1, 1, false), wait.New().For(1, 1, false)}
	for _, w := range waits {
		tb.WatchAll(w, []*Object{o})
	}
	tb.UnwatchAll(waits[0])
	tb.UnwatchAll(waits[2])
	tb.UnwatchAll(waits[2]) // a second time changes nothing
	if list := o.Waits(); len(list) != 1 || list[0] != waits[1] {
		t.Errorf("%d waits are left in the object", len(list))
	}
	late := wait.New().For(1, 1, false)
	tb.WatchAll(late, []*Object{o})
	if len(o.Waits()) != 1 {
		t.Error("the id of a wait that has ended keeps its place")
	}
	tb.Complete(o, Inline, nil, 0, false)
	expectEffects(t, r, "wake", "wake")
	if waits[0].Over() || waits[2].Over() || !waits[1].Over() || !late.Over() {
		t.Error("other waits have ended than those that were open")
	}
}

func TestUnwatchBy_TaskWaitsTwice_IsToldNothing(t *testing.T) {
	tb, r := recorded()
	o := tb.New(1, 1)
	tb.UnwatchBy(o, job(1)) // nobody waits
	for _, k := range []job{1, 2, 1} {
		tb.WatchBy(o, k)
	}
	tb.UnwatchBy(o, job(1))
	tb.Complete(o, Inline, nil, 0, false)
	expectEffects(t, r, "task 2 ready")
}

// An effect may use the table: what it begins to wait for is not told by the event that it is part of.
func TestSettle_EffectWatchesAgain_NextEventTells(t *testing.T) {
	tb, r := recorded()
	o := tb.New(1, 1)
	tb.WatchBy(o, job(1))
	r.then = func() {
		tb.Forget(o)
		tb.WatchBy(o, job(2))
	}
	tb.Complete(o, Inline, nil, 0, false)
	expectEffects(t, r, "task 1 ready")
	tb.Complete(o, Inline, nil, 0, false)
	expectEffects(t, r, "task 2 ready")
}

// When the session ends, threads and borrowers hear of it. Tasks do not: they begin nothing any more.
func TestFailAll_WhatIsReadyStays_TheRestFails(t *testing.T) {
	tb, r := recorded()
	ready, pending, infeasible := tb.New(1, 1), tb.New(2, 1), tb.New(3, 1)
	tb.Complete(ready, Inline, []byte("v"), 1, false)
	tb.Infeasible(infeasible, noNode)
	tb.WatchBy(pending, job(1))
	tb.Question(pending, &wire.Message{ID: 5})
	tb.Watch(pending, wait.New())
	why := fault.New(fault.Closed, "over")
	tb.FailAll(why)
	expectEffects(t, r, "wake", "reply 5: state 5")
	if ready.State() != Inline || pending.State() != Failed || pending.Fault() != why || infeasible.Fault() != why {
		t.Errorf("states %d, %d, %d", ready.State(), pending.State(), infeasible.State())
	}
}

// A copy that is looked for is pending, is told apart from what a task makes, and comes back.
func TestChecked_CopyIsThere_ReadyAgain(t *testing.T) {
	tb, r := recorded()
	o := stored(tb, 1, 10)
	if o.Verifying() {
		t.Error("a copy that is there is looked for")
	}
	tb.VerifyCopy(o)
	expectEffects(t, r, "check 1")
	if !o.Verifying() || o.State() != Pending {
		t.Errorf("state %d", o.State())
	}
	o.SetSource(job(1))
	if o.Verifying() {
		t.Error("what a task makes again is looked for")
	}
	o.SetSource(nil)
	tb.WatchBy(o, job(1))
	tb.Checked([]*Object{o}, nil, nil)
	expectEffects(t, r, "task 1 ready")
	tb.VerifyCopy(o)
	tb.Unref(o, 1)
	if freed := tb.Take(); len(freed) != 1 || !freed[0].Verifying() {
		t.Errorf("freed %v while its copy was looked for", freed)
	}
	if other := tb.Borrow(ids.NewObject(3, ids.NewWorkerOn(1).Owner(), ids.JobOf(1), 1), "elsewhere"); other.Verifying() {
		t.Error("another owner's object is looked for")
	}
}

// A token has its actor, whatever is known of its value, until the actor is not made after all.
func TestMakeToken_ObjectIsAnActorsToken(t *testing.T) {
	tb, _ := recorded()
	o := tb.New(0, 1)
	o.SetSource(job(1))
	if o.IsToken() {
		t.Error("what a task returns is an actor's token")
	}
	tb.MakeToken(o, someActor{})
	if !o.IsToken() || o.State() != Inline || o.Source() != (someActor{}) {
		t.Errorf("state %d, from %v", o.State(), o.Source())
	}
	tb.EndToken(o)
	if o.IsToken() {
		t.Error("it is a token without an actor")
	}
}

// What is known of an object comes back as it was, each fact by itself.
func TestRestore_Facts_EachComesBack(t *testing.T) {
	id := ids.NewObject(3, ids.NewWorkerOn(1).Owner(), ids.JobOf(1), 1)
	for what, f := range map[string]Facts{
		"state": {State: Stored}, "error": {IsError: true}, "asked": {Asked: true}, "seen": {Seen: true}, "owner": {OwnerAddr: "x"},
		"site": {Site: 1}, "maker": {Maker: 2}, "size": {Size: 3}, "value": {Value: []byte("v")}, "fault": {Fault: noNode},
	} {
		o := Known(id, f)
		got := o.Facts()
		if got.State != f.State || got.IsError != f.IsError || got.Asked != f.Asked || got.Seen != f.Seen || got.OwnerAddr != f.OwnerAddr || got.Site != f.Site ||
			got.Maker != f.Maker || got.Size != f.Size || string(got.Value) != string(f.Value) || got.Fault != f.Fault || o.ID != id {
			t.Errorf("%s: %+v became %+v", what, f, got)
		}
		if o.Restore(Facts{}); o.Asked() || o.Seen() || o.State() != Pending {
			t.Errorf("%s: the facts before are left: %+v", what, o.Facts())
		}
	}
}
