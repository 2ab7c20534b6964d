package callargs

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// stored is an argument in the store.
func stored(n uint64) frame.Place {
	return frame.Place{ID: ids.NewObject(n, ids.Owner{9}, ids.JobOf(1), 0), Owner: "somewhere", Size: 100}
}

// answer tells the places of so many objects when all of them have been asked for, and returns them in their order.
func (w *worker) answer(n int, lacks ...ids.Object) <-chan []ids.Object {
	done := make(chan []ids.Object, 1)
	go func() {
		var list []ids.Object
		var questions []*wire.Message
		for range n {
			m := <-w.pins
			var q wire.ObjPin
			if err := m.Decode(&q); err != nil || !q.Argument {
				w.t.Errorf("asked for as the argument of a task: %v, %v", q.Argument, err)
			}
			list, questions = append(list, ids.Object(q.ObjectID)), append(questions, m)
		}
		for i, m := range questions {
			if slices.Contains(lacks, list[i]) {
				_ = m.Fail(fault.New(fault.ObjectLost, "no copy"))
			} else {
				_ = m.Reply(wire.ObjPlace{Offset: uint64(4096 * (i + 1)), Size: 100})
			}
		}
		done <- list
	}()
	return done
}

// A call's stored arguments are all asked for before the first answer is waited for; what came with the call
// and what is looked at already needs no question.
func TestFetch_AllStoredOnes_AreAskedForTogether(t *testing.T) {
	w := newWorker(t)
	w.mu.Lock()
	defer w.mu.Unlock()
	known := w.answer(1)
	v, err := w.store.AwaitArgument(stored(4).ID, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	<-known
	asked := w.answer(3)
	k := w.call(w.caller(wire.RoleLease), 1, stored(1), stored(2), small, stored(3), stored(4))
	if w.f.AtHand(k) {
		t.Error("what the store has to tell is at hand")
	}
	var args Found
	var deps []Found
	lost, err := w.f.Fetch(k, &args, &deps)
	if err != nil || lost != nil || args.View == 0 || len(deps) != 4 || deps[0].View == 0 || deps[1].View != 0 || deps[2].View == 0 || deps[3].View == 0 {
		t.Fatalf("%+v, %+v, lost %v, %v", args, deps, lost, err)
	}
	if got, want := <-asked, []ids.Object{stored(1).ID, stored(2).ID, stored(3).ID}; !slices.Equal(got, want) {
		t.Errorf("asked for %v, want %v", got, want)
	}
	if w.sent != 1 {
		t.Errorf("answers that wait were sent %d times", w.sent)
	}
	if !w.f.AtHand(k) {
		t.Error("what is looked at is not at hand")
	}
	for _, x := range append(deps, args) {
		w.store.Drop(x.View)
	}
	w.store.Unhold(v)
	for _, p := range []frame.Place{stored(1), stored(2), stored(3), stored(4)} {
		if w.store.Has(p.ID) {
			t.Errorf("%s has more than one hold", p.ID)
		}
	}
}

// What is lost is named, and what was fetched beside it is let go of. An actor's call that was put off too
// often, and a constructor, wait for the owner instead.
func TestFetch_LostArgument_IsNamedOrAwaited(t *testing.T) {
	for what, x := range map[string]struct {
		role   string
		misses int
		actor  *wire.ActorStart
		lost   []int
	}{
		"a task":                     {wire.RoleLease, 0, nil, []int{2}},
		"an actor's call":            {wire.RoleActor, 0, nil, []int{2}},
		"one that was put off often": {wire.RoleActor, 10, nil, nil},
		"a constructor":              {wire.RoleActor, 0, new(wire.ActorStart), nil},
	} {
		w := newWorker(t)
		var got []ids.Object
		w.get = func(id ids.Object) (Found, error) {
			got = append(got, id)
			return Found{Envelope: []byte("again")}, nil
		}
		w.mu.Lock()
		k := w.missed(w.call(w.caller(x.role), 1, small, stored(1), stored(2)), x.misses)
		k.Actor = x.actor
		both := w.answer(2, stored(2).ID)
		answered := make(chan struct{})
		go func() {
			<-both
			<-w.answer(1, stored(2).ID) // what is lost is asked for once more, which tells the error
			close(answered)
		}()
		var args Found
		var deps []Found
		lost, err := w.f.Fetch(k, &args, &deps)
		if err != nil || !slices.Equal(lost, x.lost) {
			t.Fatalf("%s: lost %v, %v", what, lost, err)
		}
		<-answered
		switch awaits := x.lost == nil; {
		case awaits && (len(got) != 1 || got[0] != stored(2).ID || len(deps) != 2 || string(deps[1].Envelope) != "again" || len(k.Held()) != 1):
			t.Errorf("%s: waited for %v, %+v, it holds %d", what, got, deps, len(k.Held()))
		case !awaits && (got != nil || deps != nil || args.Envelope != nil || w.store.Has(stored(1).ID)):
			t.Errorf("%s: waited for %v, %+v", what, got, deps)
		}
		w.mu.Unlock()
	}
}

// An argument that was not known to be ready when its task was sent is waited for, and held by the call. What
// comes of the wait is what comes of the call.
func TestFetch_NotKnownToBeReady_IsWaitedFor(t *testing.T) {
	w := newWorker(t)
	w.mu.Lock()
	defer w.mu.Unlock()
	late := frame.Place{ID: stored(1).ID, Owner: "somewhere"}
	broken := errors.New("broken")
	lease := w.caller(wire.RoleLease)
	for _, want := range []error{nil, broken} {
		w.get = func(ids.Object) (Found, error) { return Found{Envelope: []byte("late")}, want }
		k := w.call(lease, 1, late)
		var args Found
		var deps []Found
		lost, err := w.f.Fetch(k, &args, &deps)
		if lost != nil || !errors.Is(err, want) || (string(args.Envelope) == "late") != (want == nil) || len(k.Held()) != 1 {
			t.Errorf("%q, lost %v, %v, it holds %d", args.Envelope, lost, err, len(k.Held()))
		}
		w.calls.Finish(k)
	}
	k := w.call(w.caller(wire.RoleActor), 1, late)
	var args Found
	var deps []Found
	w.get = func(ids.Object) (Found, error) { t.Error("an actor waits for a call's argument"); return Found{}, nil }
	if o := w.foreign(1, refs.Pending); o == nil {
		t.Fatal("it is not known")
	}
	if lost, err := w.f.Fetch(k, &args, &deps); err != nil || !slices.Equal(lost, []int{0}) {
		t.Errorf("an actor's call: lost %v, %v", lost, err)
	}
}
