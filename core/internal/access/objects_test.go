package access

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/tests/await"
	"golang.org/x/sys/unix"
)

// A value that was put is there as long as the program or another object holds it.
func TestPut_InsideAnotherObject_StaysUntilThatGoes(t *testing.T) {
	s := newSession(t, Parts{})
	inner := bytesValue("inner")
	in, err := s.Put(&inner)
	if err != nil {
		t.Fatal(err)
	}
	outer := bytesValue("outer")
	outer.Nested = []ids.Object{in}
	out, err := s.Put(&outer)
	if err != nil {
		t.Fatal(err)
	}
	s.Release(Drop{Object: in})
	found, err := s.Get(in, -1)
	if err != nil || !bytes.Contains(found.Envelope, []byte("inner")) {
		t.Fatalf("the inner object: %v, %v", found, err)
	}
	s.Release(Drop{Object: out})
	if owned, _ := s.Holds(); owned != 0 {
		t.Errorf("%d objects stay", owned)
	}
	if _, err := s.Get(in, 0); fault.CodeOf(err) != fault.ObjectLost {
		t.Errorf("a get of what is gone: %v", err)
	}
}

// A get that times out says so, and finds the value when it has come.
func TestGet_TimesOutAndComesBack_TheValueIsFound(t *testing.T) {
	s := newSession(t, Parts{})
	id := s.pending(1)[0]
	if found, err := s.Get(id, time.Millisecond); found != nil || err != nil {
		t.Fatalf("before the value: %v, %v", found, err)
	}
	got := make(chan error)
	go func() {
		found, err := s.Get(id, -1)
		if err == nil && !bytes.Contains(found.Envelope, []byte("value")) {
			err = fmt.Errorf("the value is %q", found.Envelope)
		}
		got <- err
	}()
	s.returns(id, bytesValue("value"))
	if err := <-got; err != nil {
		t.Error(err)
	}
	s.unlocked("after a get")
}

// The end of a context ends a get, a wait and nothing else.
func TestContext_Ends_TheWaitsReturnItsError(t *testing.T) {
	s := newSession(t, Parts{})
	id := s.pending(1)[0]
	ctx, cancel := context.WithCancel(t.Context())
	ends := make(chan error, 2)
	go func() { _, err := s.GetContext(ctx, id); ends <- err }()
	go func() { ends <- s.WaitContext(ctx, []ids.Object{id}, 1, func(int, bool) {}) }()
	s.begun(1)
	cancel()
	for range 2 {
		if err := <-ends; !errors.Is(err, context.Canceled) {
			t.Errorf("a wait ended with %v", err)
		}
	}
	s.returns(id, bytesValue("value"))
	if ready, err := s.Ready(id); !ready || err != nil {
		t.Errorf("the object is ready: %v, %v", ready, err)
	}
}

// Select gives the places of the first objects that are ready, in the order of the list.
func TestSelect_SomeAreReady_TheFirstInTheList(t *testing.T) {
	s := newSession(t, Parts{})
	all := s.pending(4)
	var list []*ids.Object
	for i := range all {
		list = append(list, &all[i])
	}
	for _, i := range []int{3, 1, 2} {
		s.returns(all[i], bytesValue("value"))
	}
	pick := make([]uint32, 4)
	got, done, err := s.Select(list, 2, -1, false, pick)
	if got != 2 || !done || err != nil || pick[0] != 1 || pick[1] != 2 {
		t.Errorf("Select: %d of %v, %v, %v", got, pick, done, err)
	}
	if got, done, err = s.Select(list, 4, time.Millisecond, false, pick); got != 3 || done || err != nil {
		t.Errorf("Select of all: %d, done %v, %v", got, done, err)
	}
	if got, sure := s.SelectNow(list, 2, false, pick); got != 2 || !sure || pick[0] != 1 || pick[1] != 2 {
		t.Errorf("SelectNow of two: %d of %v, %v", got, pick, sure)
	}
	if got, sure := s.SelectNow(list, 4, false, pick); got != 3 || !sure {
		t.Errorf("SelectNow: %d, %v", got, sure)
	}
}

// A signal whose handler raises ends a wait for many objects.
func TestWait_SignalHandlerRaises_Interrupted(t *testing.T) {
	s := newSession(t, Parts{Signals: func() bool { return true }})
	_, _, err := s.Wait(s.pending(2), 2, -1, WaitSome, func(int, bool) {})
	if fault.CodeOf(err) != fault.Interrupted {
		t.Errorf("the wait ended with %v", err)
	}
	s.unlocked("after an interrupted wait")
}

// A panic in what the session asks of the program leaves the mutex free for the next call.
func TestMutex_ProgramsFunctionPanics_IsReleased(t *testing.T) {
	hostile := func() bool { panic("the program's function") }
	v := bytesValue("value")
	for what, call := range map[string]func(*session, []ids.Object){
		"put":         func(s *session, _ []ids.Object) { _, _ = s.Put(&v) },
		"wait":        func(s *session, l []ids.Object) { _, _, _ = s.Wait(l, 1, -1, WaitSome, func(int, bool) {}) },
		"lose":        func(s *session, l []ids.Object) { _, _ = s.Lose(l[0]) },
		"let go":      func(s *session, l []ids.Object) { s.Release(Drop{Object: l[0]}) },
		"marks ready": func(s *session, l []ids.Object) { _, _, _ = s.Wait(l, 0, -1, WaitSome, func(int, bool) { hostile() }) },
	} {
		s := newSession(t, Parts{})
		list := s.pending(1)
		s.signals = hostile
		if what == "put" || what == "lose" || what == "let go" {
			s.drops = func() []Drop { hostile(); return nil }
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: nothing panicked", what)
				}
			}()
			call(s, list)
		}()
		s.unlocked(what)
		s.drops, s.signals = nil, nil
	}
}

// Whatever a program asks of a session that has ended, it hears why the session ended.
func TestObjects_SessionHasEnded_EachCallSaysWhy(t *testing.T) {
	s := newSession(t, Parts{})
	id := s.pending(1)[0]
	table, err := s.RefTable([]*ids.Object{&id})
	if err != nil {
		t.Fatal(err)
	}
	over := errors.New("the session is over")
	waits := make(chan error)
	go func() { _, _, err := s.Wait([]ids.Object{id}, 1, -1, WaitSome, func(int, bool) {}); waits <- err }()
	s.begun(1)
	s.ends(over)
	if err := <-waits; !errors.Is(err, over) {
		t.Errorf("a wait that was under way: %v", err)
	}
	v := bytesValue("value")
	for what, call := range map[string]func() error{
		"Put":         func() error { _, err := s.Put(&v); return err },
		"Get":         func() error { _, err := s.Get(id, -1); return err },
		"TryGet":      func() error { _, err := s.TryGet(id); return err },
		"TryGetAll":   func() error { _, _, err := s.TryGetAll([]*ids.Object{&id}, nil); return err },
		"Ready":       func() error { _, err := s.Ready(id); return err },
		"Wait":        func() error { _, _, err := s.Wait([]ids.Object{id}, 1, -1, WaitSome, nil); return err },
		"Select":      func() error { _, _, err := s.Select([]*ids.Object{&id}, 1, -1, false, nil); return err },
		"AsyncWatch":  func() error { _, err := s.AsyncWatch(id, 1); return err },
		"Import":      func() error { return s.Import(id, "/other", 0) },
		"ImportAll":   func() error { _, err := s.ImportAll(table, 0, refs.Batch{}); return err },
		"ImportTable": func() error { _, _, err := s.ImportTable(table); return err },
		"RefTable":    func() error { _, err := s.RefTable(nil); return err },
		"Keep":        func() error { return s.Keep(id, nil) },
		"Free":        func() error { return s.Free([]ids.Object{id}) },
		"Lose":        func() error { _, err := s.Lose(id); return err },
		"Err":         s.Err,
	} {
		if err := call(); !errors.Is(err, over) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// An event loop is told once when the object that it watches is ready, and not at all when the object already is.
func TestAsyncWatch_ObjectBecomesReady_TheTokenComesOnce(t *testing.T) {
	s := newSession(t, Parts{})
	list := s.pending(2)
	s.returns(list[1], bytesValue("there"))
	if ready, err := s.AsyncWatch(list[1], 8); !ready || err != nil {
		t.Errorf("an object that is ready: %v, %v", ready, err)
	}
	if ready, err := s.AsyncWatch(list[0], 7); ready || err != nil {
		t.Errorf("an object that is pending: %v, %v", ready, err)
	}
	if tokens := s.AsyncDrain(); len(tokens) != 0 {
		t.Errorf("tokens before the value: %v", tokens)
	}
	s.returns(list[0], bytesValue("value"))
	poll := []unix.PollFd{{Fd: int32(s.AsyncFD()), Events: unix.POLLIN}}
	if n, err := unix.Poll(poll, int(await.Limit.Milliseconds())); n != 1 || err != nil {
		t.Fatalf("the descriptor does not ring: %d, %v", n, err)
	}
	if tokens := s.AsyncDrain(); len(tokens) != 1 || tokens[0] != 7 {
		t.Errorf("tokens: %v", tokens)
	}
	if n, _ := unix.Poll(poll, 0); n != 0 {
		t.Error("the descriptor rings for nothing")
	}
	s.mutex.Lock()
	s.CloseAsync()
	s.Ring(9)
	s.mutex.Unlock()
	if tokens := s.AsyncDrain(); len(tokens) != 0 {
		t.Errorf("tokens after the end: %v", tokens)
	}
}

// A reference that nobody here owns is unknown, or belongs to another session.
func TestFind_UnknownObjects_TheErrorSaysWhy(t *testing.T) {
	s := newSession(t, Parts{})
	for words, id := range map[string]ids.Object{
		"was freed":               ids.NewObject(99, s.own, ids.JobOf(1), 0),
		"belongs to another sess": ids.NewObject(99, ids.Owner{9}, ids.JobOf(1), 0),
	} {
		if _, err := s.Get(id, 0); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("a get: %v, want %q", err, words)
		}
	}
}
