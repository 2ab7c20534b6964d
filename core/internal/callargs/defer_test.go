package callargs

import (
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/execute"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// What is lost is waited for in the queue the first time. Later that helps only
// for what can come back, and not more often than MaxMisses.
func TestMayDefer_AsLongAsItMayComeBack(t *testing.T) {
	w := newWorker(t)
	w.mu.Lock()
	defer w.mu.Unlock()
	actor := w.caller(wire.RoleActor)
	unknown := frame.Place{ID: ids.NewObject(77, w.self, ids.JobOf(1), 0)}
	state := func(s refs.State) frame.Place { return frame.Place{ID: w.foreign(uint64(100+s), s).ID} }
	for _, x := range []struct {
		what   string
		p      frame.Place
		misses int
		want   bool
	}{
		{"the first time", state(refs.Failed), 0, true},
		{"it has failed", state(refs.Failed), 1, false},
		{"nobody knows it", unknown, 1, true},
		{"it is stored", state(refs.Stored), w.f.MaxMisses - 1, true},
		{"it is awaited", state(refs.Pending), 1, true},
		{"too often", state(refs.Stored), w.f.MaxMisses, false},
	} {
		k := w.missed(w.call(actor, 1, small), x.misses)
		if got := w.f.mayDefer(k, x.p); got != x.want {
			t.Errorf("%s: %v", x.what, got)
		}
		w.calls.Finish(k)
	}
}

// An argument without a value and a size was not there when an actor's call was sent.
func TestToCome_OnlyWhatWasNotThereWhenTheCallWasSent(t *testing.T) {
	w := newWorker(t)
	w.mu.Lock()
	defer w.mu.Unlock()
	there, awaited := w.foreign(100, refs.Stored), w.foreign(101, refs.Pending)
	unknown := ids.NewObject(102, ids.Owner{9}, ids.JobOf(1), 0)
	actor, lease := w.caller(wire.RoleActor), w.caller(wire.RoleLease)
	for _, x := range []struct {
		what   string
		from   *execute.Caller
		misses int
		p      frame.Place
		want   bool
	}{
		{"nobody knows it", actor, 0, frame.Place{ID: unknown}, true},
		{"it is awaited", actor, 0, frame.Place{ID: awaited.ID}, true},
		{"it has come", actor, 0, frame.Place{ID: there.ID}, false},
		{"its value came with the call", actor, 0, frame.Place{ID: unknown, Envelope: []byte("x")}, false},
		{"it is in the store", actor, 0, frame.Place{ID: unknown, Size: 1}, false},
		{"a task, whose caller holds it", lease, 0, frame.Place{ID: unknown}, false},
		{"lost too often", actor, w.f.MaxMisses, frame.Place{ID: unknown}, false},
		{"lost often", actor, w.f.MaxMisses - 1, frame.Place{ID: unknown}, true},
	} {
		k := w.missed(w.call(x.from, 1, small), x.misses)
		if got := w.f.toCome(k, x.p); got != x.want {
			t.Errorf("%s: %v", x.what, got)
		}
		w.calls.Finish(k)
	}
	constructor := &execute.Call{Caller: actor, Actor: new(wire.ActorStart)}
	if w.f.toCome(constructor, frame.Place{ID: unknown}) {
		t.Error("a constructor is deferred")
	}
}

// A deferred call is at the head of the queue. It goes on when everything that is lost has come, and holds it until then.
func TestDefer_LostArguments_TheCallGoesOnWhenAllHaveCome(t *testing.T) {
	w := newWorker(t)
	w.mu.Lock()
	defer w.mu.Unlock()
	awaited := func(n uint64) *refs.Object {
		o := w.foreign(n, refs.Pending)
		o.MarkAsked() // its owner has been asked
		w.table.Pin(o)
		return o
	}
	a, b, other := awaited(100), awaited(101), awaited(102)
	at := func(o *refs.Object) frame.Place { return frame.Place{ID: o.ID, Owner: "somewhere"} }
	actor := w.caller(wire.RoleActor)
	w.sends(actor, 1, at(other), at(a), at(b))
	w.sends(actor, 2, small)
	k := w.next()
	w.f.Defer(k, []int{1, 2})
	main := w.calls.Lane("")
	if w.calls.Running() != 0 || main.Len() != 2 || w.calls.Next(main) != nil {
		t.Fatalf("%d run, %d wait", w.calls.Running(), main.Len())
	}
	if w.sent != 1 {
		t.Error("the answers of other calls wait for this one")
	}
	if held := k.Held(); len(held) != 2 || held[0] != a || held[1] != b {
		t.Errorf("it holds %d objects", len(held))
	}
	if n := len(other.Waits()); n != 0 {
		t.Errorf("%d wait for an argument that is not lost", n)
	}
	for i, o := range []*refs.Object{a, b} {
		if !main.Deferred() {
			t.Fatalf("it goes on after %d of two have come", i)
		}
		w.table.Fail(o, refs.OwnerDied(o.ID))
	}
	if main.Deferred() || w.calls.Next(main) != k {
		t.Error("it does not go on when everything has come")
	}
	held := a.Pins()
	if w.calls.Finish(k); len(k.Held()) != 0 || a.Pins() != held-1 {
		t.Errorf("it holds %d objects, and the first has %d pins", len(k.Held()), a.Pins())
	}
}

// A constructor that lacks an argument says what its creator can do when the argument's owner has ended.
func TestConstructorLacks_OwnerEnded_SaysWhatToDo(t *testing.T) {
	for code, advice := range map[fault.Code]bool{fault.OwnerDied: true, fault.ObjectLost: false} {
		err := ConstructorLacks("A", fault.New(code, "why"))
		if fault.CodeOf(err) != code || !strings.HasPrefix(err.Error(), "an argument of the constructor of A could not be had: why") ||
			strings.Contains(err.Error(), "let a process own it that stays") != advice {
			t.Errorf("%s: %v", code, err)
		}
	}
}
