package client

import (
	"slices"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// readies are the ends of constructors that the daemon is told of.
func (d *fakeDaemon) readies() <-chan wire.ActorReady {
	list := make(chan wire.ActorReady, 10)
	d.answers(wire.TActorReady, func(m *wire.Message) bool {
		var r wire.ActorReady
		_ = m.Decode(&r)
		list <- r
		return true
	})
	return list
}

// startOf is the start of an actor whose specification has these frames.
func startOf(frames ...[]byte) *wire.ActorStart {
	return &wire.ActorStart{ActorID: slices.Repeat([]byte{7}, ids.ActorSize), ClassName: "A", Incarnation: 3, Spec: slices.Concat(frames...)}
}

func named(name string) func(*frame.Template) { return func(x *frame.Template) { x.Name = name } }

// The template of the alternative on which an actor starts takes the place of the first one's.
func TestBecomeActor_OnAnAlternative_ItsTemplateCounts(t *testing.T) {
	for _, alternative := range []bool{false, true} {
		w := startDaemon(t).programless()
		s := startOf(templateOf(1, named("first")), callOf(1, 1, "args"))
		want := "first"
		if alternative {
			s.Template, want = templateOf(1, named("a longer name of an alternative")), "a longer name of an alternative"
		}
		if err := w.BecomeActor(s); err != nil {
			t.Fatal(err)
		}
		it := takes(t, w)
		if it.Kind != ItemActor || it.Tmpl.Name != want || textOf(it) != "args" || it.Actor != s {
			t.Errorf("the program gets %+v, want the constructor of %s", it, want)
		}
		w.mu.Lock()
		if actor := w.exec.ActorID(); string(actor[:]) != string(s.ActorID) {
			t.Errorf("the worker is actor %s", actor)
		}
		w.mu.Unlock()
	}
}

func TestBecomeActor_MalformedSpecification_IsRefused(t *testing.T) {
	template, call := templateOf(1, nil), callOf(1, 1, "args")
	for what, x := range map[string]struct{ spec, template []byte }{
		"nothing":                     {nil, nil},
		"no call":                     {template, nil},
		"no template":                 {call, nil},
		"two calls":                   {slices.Concat(template, call, callOf(2, 1, "more")), nil},
		"another frame":               {slices.Concat(template, call, frame.AppendQuit(nil, 1)), nil},
		"a part of a frame":           {slices.Concat(template, call, call[:5]), nil},
		"no frame":                    {[]byte{1, 2, 3}, template},
		"its first frame is cut":      {template[:len(template)-1], template},
		"a template and no call":      {template, template},
		"the template is no template": {slices.Concat(template, call), call},
	} {
		w := startDaemon(t).programless()
		s := startOf(x.spec)
		s.Template = x.template
		err := w.BecomeActor(s)
		if fault.CodeOf(err) != fault.BadRequest {
			t.Errorf("%s: %v", what, err)
		}
		w.mu.Lock()
		if e := w.exec; e.ActorID() != (ids.Actor{}) || e.Waiting() != 0 {
			t.Errorf("%s: the worker became actor %s with %d calls", what, e.ActorID(), e.Waiting())
		}
		w.mu.Unlock()
	}
}

// A constructor whose class or arguments cannot be had does not run: its creator is told why.
func TestBecomeActor_ClassOrArgumentCannotBeHad_TheDaemonIsTold(t *testing.T) {
	stored := frame.Place{ID: ids.NewObject(6, ids.Owner{9}, ids.JobOf(1), 0), Owner: "/nowhere/at.sock", Size: 100}
	for what, x := range map[string]struct {
		code  []byte
		deps  []frame.Place
		words []string
	}{
		"its class":   {code: stored.ID.Raw(), words: []string{"actor A cannot start", "no such class"}},
		"an argument": {deps: []frame.Place{stored}, words: []string{"an argument of the constructor of A", "the disk is broken"}},
	} {
		d := startDaemon(t)
		w := d.programless()
		code := d.keepsCode()
		code.give = func(uint64) (wire.CodeData, error) {
			return wire.CodeData{}, fault.New(fault.NotFound, "no such class")
		}
		d.answers(wire.TObjPin, func(m *wire.Message) bool {
			_ = m.Fail(fault.New(fault.Internal, "the disk is broken"))
			return true
		})
		ready := d.readies()
		s := startOf(templateOf(1, nil), callOf(1, 1, "args", x.deps...))
		s.Code = x.code
		if err := w.BecomeActor(s); err != nil {
			t.Fatal(err)
		}
		program := make(chan *Item, 1)
		go func() {
			it, err := w.NextTask(-1, "")
			if err != nil {
				t.Error(err)
			}
			program <- it
		}()
		r := <-ready
		for _, word := range x.words {
			if !strings.Contains(r.Message, word) {
				t.Errorf("%s: the message %q lacks %q", what, r.Message, word)
			}
		}
		if string(r.ActorID) != string(s.ActorID) || r.Incarnation != 3 {
			t.Errorf("%s: told of incarnation %d of %x", what, r.Incarnation, r.ActorID)
		}
		w.Close(0)
		if it := <-program; it == nil || it.Kind != ItemExit {
			t.Errorf("%s: the program gets %+v", what, it)
		}
	}
}

// A task whose argument cannot be read, though the store has it, fails with the reason.
func TestNextTask_ArgumentCannotBeRead_TheCallerIsTold(t *testing.T) {
	d := startDaemon(t)
	w := d.programless()
	d.answers(wire.TObjPin, func(m *wire.Message) bool {
		_ = m.Fail(fault.New(fault.Internal, "the disk is broken"))
		return true
	})
	p := callsInto(t, w, wire.RoleLease, nil)
	broken := frame.Place{ID: ids.NewObject(6, ids.Owner{9}, ids.JobOf(1), 0), Owner: "/nowhere/at.sock", Size: 100}
	p.send(templateOf(1, nil), callOf(1, 1, "a", broken), callOf(2, 1, "b"))
	it := takes(t, w)
	if textOf(it) != "b" {
		t.Fatalf("the program gets %q, want the call whose arguments are there", textOf(it))
	}
	s := p.reads()
	if s.op != wire.OpReply || s.reply.Seq != 1 || s.reply.Flags&wire.ReplyAppError == 0 || len(s.texts) != 1 || !strings.Contains(s.texts[0], "the disk is broken") ||
		strings.Contains(s.texts[0], "constructor") {
		t.Errorf("the caller is told %+v", s)
	}
	answers(t, w, it, "c")
	p.isReply(2, 0, "c")
	isEmpty(t, w, "exec_calls", "exec_queue", "views")
}

// The store's memory that a task looks at is held until the task has let go of it.
func TestNextTask_StoredArgument_IsHeldWhileTheTaskLooks(t *testing.T) {
	d := startDaemon(t)
	w, c := d.programless(), d.driver()
	id := putBytes(t, c, 2*MaxInline, 5)
	ref := submitText(t, c, template(t, c, "f"), "", id)
	it := takes(t, w)
	for it.Kind == ItemAssign {
		it = takes(t, w)
	}
	if len(it.Deps) != 1 || it.Deps[0].View == 0 || inUse(w) != 1 {
		t.Fatalf("the task gets %d arguments, and looks at %d objects", len(it.Deps), inUse(w))
	}
	w.Release(Drop{View: it.Deps[0].View})
	if n := inUse(w); n != 0 {
		t.Errorf("the task still looks at %d objects", n)
	}
	answers(t, w, it, "x")
	if got := get(t, c, ref); got != "x" {
		t.Errorf("the task returned %q", got)
	}
}
