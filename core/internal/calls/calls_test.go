package calls

import (
	"errors"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/access"
	"github.com/eagleray/eagleray/core/internal/actors"
	"github.com/eagleray/eagleray/core/internal/envelope"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func template(name string) *submit.Template {
	return &submit.Template{Kind: frame.KindTask, Name: name, FID: make([]byte, 16), Blob: []byte("code"), Returns: 1}
}

// function registers a function, and returns its template's number.
func (s *session) function(name string) int {
	s.t.Helper()
	n, err := s.NewTemplate(template(name))
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// puts makes an object of a value, as the program does.
func (s *session) puts(v envelope.Value) ids.Object {
	s.t.Helper()
	id, err := s.objects.Put(&v)
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

// stores has the daemon give room for one object, and tell where that is.
func (s *session) stores() {
	s.on(wire.TObjCreate, func(m *wire.Message) {
		var q wire.ObjCreate
		if err := m.Decode(&q); err != nil {
			s.t.Error(err)
		}
		place := wire.ObjPlace{Size: q.Size}
		s.answers[wire.TObjPin] = func(m *wire.Message) { _ = m.Reply(place) }
		_ = m.Reply(place)
	})
}

var none = envelope.Value{Fmt: uint8(store.FormatNone)}

func large() envelope.Value {
	return envelope.Value{Fmt: uint8(store.FormatBytes), Bufs: [][]byte{make([]byte, 2*frame.MaxInline)}}
}

// A task holds what it takes until it has ended: the program may let go of all of it at once.
func TestSubmit_ProgramLetsGoOfArguments_TheTaskHoldsThem(t *testing.T) {
	s := newSession(t)
	s.stores()
	dep, inside := s.puts(envelope.Value{Fmt: uint8(store.FormatBytes)}), s.puts(envelope.Value{Fmt: uint8(store.FormatBytes)})
	args := large()
	args.Nested = []ids.Object{inside}
	first, returns, err := s.Submit(&Call{Template: s.function("f"), Args: args, Deps: []ids.Object{dep}})
	if err != nil || returns != 1 {
		t.Fatal(returns, err)
	}
	s.objects.Release(access.Drop{Object: dep})
	s.objects.Release(access.Drop{Object: inside})
	if owned, _ := s.objects.Holds(); owned != 4 {
		t.Errorf("%d objects are held, want the result, the arguments and two that they refer to", owned)
	}
	if err := s.Cancel(first, false, false); err != nil {
		t.Fatal(err)
	}
	if owned, _ := s.objects.Holds(); owned != 1 {
		t.Errorf("%d objects are held after the task has ended, want its result", owned)
	}
	if found, err := s.objects.Get(first, -1); err != nil || !found.IsError {
		t.Errorf("the result of a cancelled task: %+v, %v", found, err)
	}
}

// A call that cannot be made keeps nothing.
func TestSubmit_Refused_NothingIsKept(t *testing.T) {
	s := newSession(t)
	f, there, gone := s.function("f"), s.puts(envelope.Value{Fmt: uint8(store.FormatBytes)}), ids.NewObject(99, s.own, ids.JobOf(1), 0)
	for what, x := range map[string]struct {
		call Call
		code fault.Code
	}{
		"too many references":    {Call{Template: f, Args: none, Deps: make([]ids.Object, frame.MaxReferences+1)}, fault.BadRequest},
		"an argument is gone":    {Call{Template: f, Args: none, Deps: []ids.Object{there, gone}}, fault.ObjectLost},
		"the store takes it not": {Call{Template: f, Args: large()}, fault.StoreFull},
		"a template nobody has":  {Call{Template: f + 1, Args: none}, fault.BadRequest},
	} {
		s.on(wire.TObjCreate, func(m *wire.Message) { _ = m.Fail(fault.New(fault.StoreFull, "full")) })
		_, _, err := s.Submit(&x.call)
		if fault.CodeOf(err) != x.code {
			t.Errorf("%s: %v, want %s", what, err, x.code)
		}
		if what == "too many references" && !strings.Contains(err.Error(), "at most") {
			t.Errorf("%s: %v", what, err)
		}
		if owned, _ := s.objects.Holds(); owned != 1 {
			t.Errorf("%s: %d objects are held, want 1", what, owned)
		}
		if !s.mutex.TryLock() {
			t.Fatalf("%s: the mutex is still held", what)
		}
		s.mutex.Unlock()
	}
	s.objects.Release(access.Drop{Object: there})
	if owned, _ := s.objects.Holds(); owned != 0 {
		t.Errorf("%d objects stay pinned by calls that were refused", owned)
	}
}

// A class is read from the object that holds it, and its view is let go of. One whose object was freed is lost.
func TestRead_ObjectThereOrFreed_ViewIsLetGo(t *testing.T) {
	s := newSession(t)
	s.stores()
	id := s.puts(large())
	h := (*creator)(&s.Calls)
	read := 0
	if err := h.Read(id, func(b []byte) error { read = len(b); return nil }); err != nil || read < 2*frame.MaxInline {
		t.Errorf("%d bytes are read, %v", read, err)
	}
	s.mutex.Lock()
	held := s.store.Count().InUse
	s.mutex.Unlock()
	if held != 0 {
		t.Errorf("%d views of it are still held", held)
	}
	if err := s.objects.Free([]ids.Object{id}); err != nil {
		t.Fatal(err)
	}
	if err := h.Read(id, func([]byte) error { t.Error("a freed object is read"); return nil }); fault.CodeOf(err) != fault.ObjectLost {
		t.Error(err)
	}
}

// The head's answer decides what becomes of a named actor. The mutex is free while the answer is awaited.
func TestNewActor_Named_TheAnswerDecides(t *testing.T) {
	for what, x := range map[string]struct {
		answer func(*wire.Message)
		known  bool
	}{
		"it is made": {func(m *wire.Message) { _ = m.Reply(wire.ActorCreated{}) }, true},
		"it exists":  {func(m *wire.Message) { _ = m.Reply(wire.ActorCreated{Existing: new(wire.ActorNamed)}) }, false},
		"it fails":   {func(m *wire.Message) { _ = m.Fail(fault.New(fault.BadRequest, "the name is taken")) }, false},
	} {
		s := newSession(t)
		s.on(wire.TActorCreate, func(m *wire.Message) {
			s.mutex.Lock()
			defer s.mutex.Unlock() // the session goes on meanwhile
			x.answer(m)
		})
		id, existing, err := s.NewActor(&actors.Spec{ActorCreate: wire.ActorCreate{ClassName: "A", Name: "name"}, FID: make([]byte, 16), Blob: []byte("class")}, &none, nil)
		if (err != nil) != (what == "it fails") || (existing != nil) != (what == "it exists") {
			t.Errorf("%s: %+v, %v", what, existing, err)
		}
		if known := s.ActorToken(id) != ""; known != x.known {
			t.Errorf("%s: the actor is known: %v", what, known)
		}
	}
}

// A call of an actor that nobody knows, and a token that nobody wrote, are refused.
func TestActors_UnknownOrMalformed_Refused(t *testing.T) {
	s := newSession(t)
	if _, _, err := s.CallActor(ids.Actor{9}, &Call{Template: s.function("m"), Args: none}); err == nil {
		t.Error("an actor that nobody knows was called")
	}
	for _, token := range []string{"zz@owner", "abcd@owner", "no owner"} {
		if _, err := s.OpenActor(ids.Actor{9}, token, "A", 0, 0); fault.CodeOf(err) != fault.BadRequest {
			t.Errorf("the token %q: %v", token, err)
		}
	}
	s.mutex.Lock()
	s.objects.SetClosed(errors.New("the session is over"))
	s.mutex.Unlock()
	if _, err := s.NewTemplate(template("f")); err == nil || err.Error() != "the session is over" {
		t.Errorf("a template after the end: %v", err)
	}
	if _, _, err := s.NewActor(&actors.Spec{ActorCreate: wire.ActorCreate{ClassName: "A"}, FID: make([]byte, 16), Blob: []byte("class")}, &none, nil); err == nil {
		t.Error("an actor was made after the end")
	}
}

// All that a call has submitted is cancelled with it, and nothing else. Without a worker nobody has to hear of it.
func TestCancelChildren_OfOneCall_OthersStay(t *testing.T) {
	s := newSession(t)
	f := s.function("f")
	submit := func(parent uint64) ids.Object {
		id, _, err := s.Submit(&Call{Template: f, Args: none, Parent: parent})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	mine, others := []ids.Object{submit(5), submit(5)}, submit(6)
	cancel := func(token uint64) <-chan struct{} {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		return s.CancelChildren(token, false)
	}
	<-cancel(4)
	<-cancel(5)
	for _, id := range mine {
		if ready, err := s.objects.Ready(id); !ready || err != nil {
			t.Errorf("a task of the cancelled call goes on: %v, %v", ready, err)
		}
	}
	if ready, err := s.objects.Ready(others); ready || err != nil {
		t.Errorf("a task of another call was cancelled: %v, %v", ready, err)
	}
}
