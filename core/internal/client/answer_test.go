package client

import (
	"encoding/hex"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/actors"
	"github.com/eagleray/eagleray/core/internal/envelope"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// pickled is a value of a few bytes with references inside.
func pickled(text string, inside ...ids.Object) Value {
	return Value{Fmt: FmtPickle, Meta: []byte(text), Nested: inside}
}

// A cancelled method answers that it was cancelled, whatever it returned. A
// cancelled task that returned all the same has its result. One that raised
// what it was interrupted with is not tried again, once it was interrupted.
func TestReply_CallWasCancelled_AnswerSaysWhatBecameOfIt(t *testing.T) {
	for _, x := range []struct {
		what        string
		kind        int
		interrupted bool // the program has seen that it was
		flags       int
		want        uint64
		texts       []string
	}{
		{"a method that returns", KindMethod, false, 0, wire.ReplyCancelled, nil},
		{"a method that raises", KindMethod, true, wire.ReplyAppError, wire.ReplyAppError | wire.ReplyNoRetry, []string{"v"}},
		{"a task that returns", KindTask, true, 0, 0, []string{"v"}},
		{"a task that raises of itself", KindTask, false, wire.ReplyAppError, wire.ReplyAppError, []string{"v"}},
		{"a task that raises when it is interrupted", KindTask, true, wire.ReplyAppError, wire.ReplyAppError | wire.ReplyNoRetry, []string{"v"}},
		{"a task that says that it was cancelled", KindTask, true, wire.ReplyCancelled, wire.ReplyCancelled, nil},
	} {
		t.Run(x.what, func(t *testing.T) {
			w := startDaemon(t).programless()
			p := callsInto(t, w, wire.RoleLease, nil)
			p.send(templateOf(1, func(tm *frame.Template) { tm.Kind = x.kind }), callOf(1, 1, "x"))
			it := takes(t, w)
			cancels(w, it.TaskID)
			if x.interrupted {
				if id, ok := w.CurrentCancelled(); !ok || id != it.TaskID {
					t.Errorf("the program is told that %v was cancelled, %v", id, ok)
				}
			}
			if err := w.Reply(it.Token, []Value{pickled("v")}, x.flags); err != nil {
				t.Fatal(err)
			}
			p.isReply(1, x.want, x.texts...)
			if id, ok := w.CurrentCancelled(); ok {
				t.Errorf("the program is told afterwards that %v was cancelled", id)
			}
			if err := w.Reply(it.Token, []Value{pickled("v")}, 0); fault.CodeOf(err) != fault.BadRequest {
				t.Errorf("a second answer: %v", err)
			}
		})
	}
}

// When one result cannot be stored, the whole call fails: what was stored of the
// others is freed, and what they refer to is let go of.
func TestReply_OneResultCannotBeStored_NothingOfTheOthersIsLeft(t *testing.T) {
	d := startDaemon(t)
	w := d.programless()
	p := callsInto(t, w, wire.RoleLease, nil)
	p.send(templateOf(1, func(tm *frame.Template) { tm.Returns = 3 }), callOf(1, 1, "x"))
	it := takes(t, w)
	inside := putBytes(t, w, 10, 1)
	created := 0
	d.answers(wire.TObjCreate, func(m *wire.Message) bool {
		if created++; created < 2 {
			return false
		}
		_ = m.Fail(fault.New(fault.StoreFull, "no room for it"))
		return true
	})
	large := pickled(strings.Repeat("x", MaxInline+1), inside)
	if err := w.Reply(it.Token, []Value{large, large, large}, 0); err != nil {
		t.Fatal(err)
	}
	s := p.reads()
	if s.op != wire.OpReply || s.reply.Flags != wire.ReplyAppError || len(s.texts) != 3 || s.inside != 0 {
		t.Fatalf("the caller gets %+v", s)
	}
	for _, text := range s.texts {
		if !strings.Contains(text, "no room for it") {
			t.Errorf("a result is %q", text)
		}
	}
	first := ids.NewObject(100, p.self, w.info.Job, 1)
	d.eventually("the result that was stored is freed", func() bool { return d.freed[string(first[:])] && len(d.freed) == 1 })
	letGo(t, w, inside)
	isEmpty(t, w, "calls", "held")
}

// An answer that does not fit one message is refused with words that say so, and
// leaves nothing behind.
func TestReply_MoreReferencesThanFitAMessage_Refused(t *testing.T) {
	d := startDaemon(t)
	w := d.programless()
	p := callsInto(t, w, wire.RoleLease, nil)
	p.send(templateOf(1, func(tm *frame.Template) { tm.Returns = 2 }), callOf(1, 1, "x"))
	it := takes(t, w)
	inside := putBytes(t, w, 10, 1)
	stored := pickled(strings.Repeat("x", MaxInline+1), inside)
	each := len(frame.AppendContained(nil, &inside, w.info.Addr))
	many := pickled("v", slices.Repeat([]ids.Object{inside}, wire.MaxData/each+1)...)
	if err := w.Reply(it.Token, []Value{stored, many}, 0); err != nil {
		t.Fatal(err)
	}
	s := p.reads()
	if s.op != wire.OpReply || s.reply.Flags != wire.ReplyAppError || len(s.texts) != 2 || !strings.Contains(s.texts[0], "does not fit one message") || s.inside != 0 {
		t.Fatalf("the caller gets %+v", s)
	}
	first := ids.NewObject(100, p.self, w.info.Job, 1)
	d.eventually("the result that was stored is freed", func() bool { return d.freed[string(first[:])] })
	letGo(t, w, inside)
	isEmpty(t, w, "calls", "held")
}

// Of an answer that nobody reads any more, nothing is held for the caller.
func TestReply_CallerHasLeft_ReferencesAreLetGo(t *testing.T) {
	w := startDaemon(t).programless()
	p := callsInto(t, w, wire.RoleLease, nil)
	p.send(templateOf(1, nil), callOf(1, 1, "x"))
	it := takes(t, w)
	p.leave()
	waitFor(t, "the worker knows that the caller has left", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.poller.LookSoon()
		return len(w.exec.Callers()) == 0
	})
	inside := putBytes(t, w, 10, 1)
	if err := w.Reply(it.Token, []Value{pickled("v", inside)}, 0); err != nil {
		t.Fatal(err)
	}
	letGo(t, w, inside)
	isEmpty(t, w, "calls", "held")
}

// What a worker runs is told by its newest call, and whether one of all its calls must not run twice.
func TestReport_SeveralCalls_TheNewestIsNamed(t *testing.T) {
	w := startDaemon(t).programless()
	p := callsInto(t, w, wire.RoleActor, nil)
	report := func() wire.Running {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.exec.Report()
	}
	if r := report(); r != (wire.Running{}) {
		t.Errorf("a worker without calls runs %+v", r)
	}
	var items []*Item
	for i, name := range []string{"a", "once", "b", "c", "newest"} {
		n := uint64(i + 1)
		p.send(templateOf(n, func(tm *frame.Template) { tm.Name, tm.Once = name, name == "once" }), callOf(uint32(n), n, "x"))
		it := takes(t, w)
		items = append(items, it)
		r := report()
		if r.Name != name || r.Busy != i+1 || r.Call != it.Token || r.Once != (i > 0) || r.AgeUs < 0 {
			t.Errorf("after %q: %+v", name, r)
		}
	}
	for _, i := range []int{4, 1} {
		answers(t, w, items[i], "x")
	}
	if r := report(); r.Name != "c" || r.Busy != 3 || r.Call != items[3].Token || r.Once {
		t.Errorf("after the newest has ended: %+v", r)
	}
}

// constructorEnds notes what the daemon is told of constructors.
func (d *fakeDaemon) constructorEnds() (list func() []wire.ActorReady) {
	var seen []wire.ActorReady
	d.answers(wire.TActorReady, func(m *wire.Message) bool {
		var q wire.ActorReady
		_ = m.Decode(&q)
		seen = append(seen, q)
		return true
	})
	return func() []wire.ActorReady {
		d.mu.Lock()
		defer d.mu.Unlock()
		return slices.Clone(seen)
	}
}

// oneReady waits for the one thing that is said of a constructor.
func oneReady(t *testing.T, list func() []wire.ActorReady) wire.ActorReady {
	t.Helper()
	waitFor(t, "the end of the constructor is told", func() bool { return len(list()) == 1 })
	return list()[0]
}

// The end of a constructor is told with its exception. One that is large goes to
// the store when somebody owns it there; otherwise only its short form is told.
func TestActorReady_ConstructorRaises_TheExceptionOrItsShortFormIsTold(t *testing.T) {
	creator := ids.NewWorkerOn(fakeNode).Owner()
	token := ids.NewObject(7, creator, ids.JobOf(1), 0)
	text := hex.EncodeToString(token[:])
	for _, x := range []struct {
		what, token, brief string
		ok, full           bool
		want               string // in the envelope
		stored             bool
	}{
		{what: "a constructor that returned", ok: true},
		{what: "a small exception", want: "the exception"},
		{what: "a large exception", token: text + "@/sock", brief: "in short", stored: true},
		{what: "a large exception without room for it", token: text + "@/sock", brief: "in short", full: true, want: "in short"},
		{what: "a large exception of a detached actor", brief: "in short", want: "in short"},
		{what: "a token that is none", token: "zz@/sock", brief: "in short", want: "in short"},
		{what: "a token that is too short", token: "0011@/sock", brief: "in short", want: "in short"},
	} {
		t.Run(x.what, func(t *testing.T) {
			d := startDaemon(t)
			list := d.constructorEnds()
			w := d.programless()
			start := &wire.ActorStart{ActorID: make([]byte, len(ids.Actor{})), ClassName: "A", Incarnation: 3, Token: x.token,
				Spec: slices.Concat(templateOf(1, nil), callOf(1, 1, "args"))}
			start.ActorID[0] = 9
			if err := w.BecomeActor(start); err != nil {
				t.Fatal(err)
			}
			it := takes(t, w)
			if it.Kind != ItemActor {
				t.Fatalf("the program gets %+v", it)
			}
			if x.full {
				d.answers(wire.TObjCreate, func(m *wire.Message) bool { return m.Fail(fault.New(fault.StoreFull, "full")) == nil })
			}
			if err := w.ActorReady(it.Token, x.ok, "words", []byte("the exception"), []byte(x.brief)); err != nil {
				t.Fatal(err)
			}
			got := oneReady(t, list)
			if !slices.Equal(got.ActorID, start.ActorID) || got.Incarnation != 3 || got.Message+got.Repr != "words" || (got.Message == "") != x.ok || got.Unregistered {
				t.Errorf("told %+v", got)
			}
			p, err := envelope.PointerIn(got.Error)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case x.stored:
				id := actors.RaisedID(token)
				if p == nil || p.ID != id || p.Owner != "/sock" || string(p.Brief) != "in short" {
					t.Fatalf("the exception is said to be at %+v", p)
				}
				d.eventually("it is in the store", func() bool { return d.objects[string(id[:])].Size == p.Size && p.Size > uint64(len("the exception")) })
			case x.want == "":
				if len(got.Error) > 0 {
					t.Errorf("told the exception %q", got.Error)
				}
			default:
				e, err := store.Parse(got.Error)
				if err != nil || uint8(e.Format) != FmtError || string(e.Meta) != x.want {
					t.Errorf("told the exception %q, %v", got.Error, err)
				}
			}
			if err := w.ActorReady(it.Token, true, "", nil, nil); fault.CodeOf(err) != fault.BadRequest {
				t.Errorf("a constructor that ends twice: %v", err)
			}
			isEmpty(t, w, "calls")
		})
	}
}

// A constructor whose class cannot be had does not run, and the reason is told.
func TestActorReady_ClassCannotBeHad_IsTold(t *testing.T) {
	d := startDaemon(t)
	list := d.constructorEnds()
	d.answers(wire.TCodeGet, func(m *wire.Message) bool { return m.Fail(fault.New(fault.NotFound, "it is gone")) == nil })
	w := d.programless()
	start := &wire.ActorStart{ActorID: make([]byte, len(ids.Actor{})), ClassName: "A", Incarnation: 2, Code: []byte("an object's id"),
		Spec: slices.Concat(templateOf(1, nil), callOf(1, 1, "args"))}
	if err := w.BecomeActor(start); err != nil {
		t.Fatal(err)
	}
	if it, err := w.NextTask(10*time.Millisecond, ""); it != nil || err != nil {
		t.Errorf("the program gets %+v, %v", it, err)
	}
	got := oneReady(t, list)
	if !strings.Contains(got.Message, "actor A cannot start") || !strings.Contains(got.Message, "it is gone") || got.Incarnation != 2 || !slices.Equal(got.ActorID, start.ActorID) {
		t.Errorf("told %+v", got)
	}
	isEmpty(t, w, "calls")
}
