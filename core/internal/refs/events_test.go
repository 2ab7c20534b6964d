package refs

import (
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wait"
)

// A new object of ours gets its value here or in the arena. A small value that
// moves to the arena stays here, too.
func TestPut_ValueIsHereOrInTheArena(t *testing.T) {
	tb, _ := recorded()
	small, large, failed := tb.New(0, 1), tb.New(0, 1), tb.New(0, 1)
	tb.PutInline(small, []byte("v"), 1)
	tb.PutStored(large, 9, false)
	tb.PutStored(failed, 8, true)
	if small.State() != Inline || string(small.Value()) != "v" || small.Size() != 1 || small.IsError() {
		t.Errorf("the small value: %+v", small.Facts())
	}
	if large.State() != Stored || large.Value() != nil || large.Size() != 9 || large.IsError() {
		t.Errorf("the large value: %+v", large.Facts())
	}
	if failed.State() != Stored || failed.Size() != 8 || !failed.IsError() {
		t.Errorf("the exception: %+v", failed.Facts())
	}
	tb.Moved(small)
	if small.State() != Stored || string(small.Value()) != "v" {
		t.Errorf("the value that moved: %+v", small.Facts())
	}
	pending := tb.New(0, 1)
	if tb.Moved(pending); pending.State() != Pending {
		t.Errorf("an object without a value is in state %d after a move", pending.State())
	}
}

// The owner of a borrowed object is asked once, and again after it has said that the object is infeasible.
func TestAsked_UntilTheOwnerSaysInfeasible(t *testing.T) {
	tb, r := recorded()
	o := tb.Borrow(ids.NewObject(3, ids.NewWorkerOn(1).Owner(), ids.JobOf(1), 1), "its owner")
	if o.Asked() {
		t.Error("a new reference was asked for")
	}
	o.MarkAsked()
	if !o.Asked() || o.Seen() || o.Shared() {
		t.Errorf("asked %v, seen %v, shared %v", o.Asked(), o.Seen(), o.Shared())
	}
	tb.Infeasible(o, noNode)
	if o.Asked() || o.State() != Infeasible {
		t.Errorf("the owner is not asked again, state %d", o.State())
	}
	tb.Complete(o, Stored, nil, 9, false)
	tb.Missed(o)
	if o.State() != Pending || o.Size() != 9 || o.Verifying() || !o.Asked() {
		t.Errorf("a copy that is missing: %+v", o.Facts())
	}
	expectEffects(t, r, "borrow 3", "ask 3: question 1")
}

// A value that the program frees, or that its owner tells anew, leaves nothing behind.
func TestForget_FailedObject_IsPendingWithoutValue(t *testing.T) {
	tb, r := recorded()
	o := tb.New(1, 1)
	tb.Fail(o, noNode)
	o.SetFaultEnvelope([]byte("why"))
	tb.WatchBy(o, job(1))
	tb.Forget(o)
	if f := o.Facts(); f.State != Pending || f.Value != nil || f.Fault != nil || f.IsError {
		t.Errorf("%+v", f)
	}
	expectEffects(t, r)
}

// A small value whose copy in the store is lost is ready again at once.
func TestToRecompute_SmallValueWhoseCopyIsLost_WhoeverWaitsIsTold(t *testing.T) {
	tb, r := recorded()
	o := tb.New(0, 1)
	tb.PutInline(o, []byte("v"), 1)
	tb.Moved(o)
	tb.VerifyCopy(o)
	tb.WatchBy(o, job(1))
	if tb.ToRecompute(o) != nil {
		t.Error("it is to be computed again")
	}
	expectEffects(t, r, "check 1", "task 1 ready")
	if o.State() != Inline || string(o.Value()) != "v" {
		t.Errorf("%+v", o.Facts())
	}
}

// What the program's side notes of an object is there when it asks.
func TestObject_Notes_AreKept(t *testing.T) {
	o := Known(ids.Object{}, Facts{})
	o.SetOrigin(5, 6)
	if o.Site() != 5 || o.Maker() != 6 {
		t.Errorf("site %d, maker %d", o.Site(), o.Maker())
	}
	if o.SetSite(7); o.Site() != 7 || o.Maker() != 6 {
		t.Errorf("site %d, maker %d", o.Site(), o.Maker())
	}
	o.MarkSeen()
	if !o.Seen() || o.Asked() || o.Shared() {
		t.Errorf("seen %v, asked %v, shared %v", o.Seen(), o.Asked(), o.Shared())
	}
	if o.MarkShared(); !o.Shared() {
		t.Error("it is not shared")
	}
}

// A pin for a moment holds the object, and does not make it shared.
func TestPinHere_HoldsAndTellsNobody(t *testing.T) {
	tb := table()
	o := tb.New(0, 0)
	tb.Ref(o)
	tb.PinHere(o)
	tb.Unref(o, 1)
	if len(tb.Take()) != 0 || o.Shared() || o.Pins() != 1 || o.Local() != 0 {
		t.Errorf("pins %d, references %d, shared %v", o.Pins(), o.Local(), o.Shared())
	}
	tb.Unpin(o)
	if freed := tb.Take(); !slices.Equal(freed, []*Object{o}) {
		t.Errorf("freed %v", freed)
	}
}

// What a value contained stays pinned until it is unpinned one by one, while another value takes its place.
func TestTakeContained_StaysPinned(t *testing.T) {
	tb := table()
	outer, inner := tb.New(0, 1), tb.New(0, 1)
	tb.Contain(outer, inner)
	tb.Unref(inner, 1)
	list := tb.TakeContained(outer)
	if !slices.Equal(list, []*Object{inner}) || outer.Contained() != nil || len(tb.Take()) != 0 {
		t.Errorf("taken %v, left %v", list, outer.Contained())
	}
	tb.Unpin(inner)
	if freed := tb.Take(); !slices.Equal(freed, []*Object{inner}) {
		t.Errorf("freed %v", freed)
	}
}

// A result that another recipe can compute from now on lets go of what only the old one needed.
func TestLineage_AttachToAnotherRecipe_FreesWhatTheOldOneNeeded(t *testing.T) {
	tb := table()
	p := stored(tb, 0, 1000)
	o, _ := made(tb, p)
	_, other := made(tb)
	tb.Unref(p, 1)
	tb.Attach(other, []*Object{o})
	if freed := tb.Take(); !slices.Equal(freed, []*Object{p}) || o.Recipe() != other {
		t.Errorf("freed %v", freed)
	}
}

// Waits are told apart while they are under way, and counted for as long as the session lasts.
func TestWaitsOpen_BetweenWatchAndUnwatch(t *testing.T) {
	tb, _ := recorded()
	a, b := wait.New(), wait.New()
	open := func() (list []*wait.Wait) {
		tb.WaitsOpen(func(w *wait.Wait) { list = append(list, w) })
		return list
	}
	tb.WatchAll(a, nil)
	tb.WatchAll(b, nil)
	if !slices.Equal(open(), []*wait.Wait{a, b}) || tb.WaitsBegun() != 2 {
		t.Errorf("%d are open of %d", len(open()), tb.WaitsBegun())
	}
	tb.UnwatchAll(a)
	if !slices.Equal(open(), []*wait.Wait{b}) || tb.WaitsBegun() != 2 {
		t.Errorf("%d are open of %d", len(open()), tb.WaitsBegun())
	}
}
