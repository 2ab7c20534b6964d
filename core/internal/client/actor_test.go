package client

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// answers calls f, with the daemon's lock, for each message of a type; f says whether it has seen to it.
func (d *fakeDaemon) answers(kind wire.Type, f func(m *wire.Message) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.first
	d.first = func(m *wire.Message) bool {
		if m.Type == kind {
			return f(m)
		}
		return before != nil && before(m)
	}
}

// creations notes what NewActor registers; fail, if not nil, refuses it.
func (d *fakeDaemon) creations(fail error) (list func() []wire.ActorCreate) {
	var seen []wire.ActorCreate
	d.answers(wire.TActorCreate, func(m *wire.Message) bool {
		var q wire.ActorCreate
		_ = m.Decode(&q)
		seen = append(seen, q)
		if fail != nil {
			_ = m.Fail(fail)
		}
		return fail != nil
	})
	return func() []wire.ActorCreate {
		d.mu.Lock()
		defer d.mu.Unlock()
		return slices.Clone(seen)
	}
}

// oneActor is the specification of an actor of the fake daemon.
func oneActor() *ActorSpec {
	s := realActor()
	return &s
}

func echoes(_ uint64, c *Client, it *Item) { echo(c, it) }

// What cannot be created is refused at once, and nothing of it is left.
func TestNewActor_Refused_NothingIsLeft(t *testing.T) {
	d := startDaemon(t)
	d.act(0, echoes)
	created := d.creations(nil)
	c := d.driver()
	put, err := c.Put(&Value{Fmt: FmtBytes, Meta: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	unknown := ids.NewObject(1<<40, c.self, c.info.Job, 1)
	if _, _, err := c.NewActor(oneActor(), &Value{Fmt: FmtNone}, []ids.Object{put, unknown}); fault.CodeOf(err) != fault.ObjectLost {
		t.Errorf("an argument that is gone: %v", err)
	}
	letGo(t, c, put)
	c.Close(0)
	if _, _, err := c.NewActor(oneActor(), &Value{Fmt: FmtNone}, nil); err == nil || err.Error() != c.Err().Error() {
		t.Errorf("a closed session: %v", err)
	}
	if n := len(created()); n != 0 || len(c.submit.Actors) != 0 {
		t.Errorf("%d actors were registered, %d are known", n, len(c.submit.Actors))
	}
}

// An actor is registered with what its creator is, and with a token that counts
// its handles unless it is detached. An alternative carries its class only if that is another one.
func TestNewActor_Registration_SaysWhoCreatesIt(t *testing.T) {
	d := startDaemon(t)
	d.act(0, echoes)
	created := d.creations(nil)
	c := d.driver()
	s := oneActor()
	s.Namespace = ""
	s.Fallback = []wire.Alternative{{ClassName: "A"}, {ClassName: "B"}}
	s.Classes = []ActorCode{{}, {FID: []byte("other-of-sixteen"), Blob: []byte("other")}}
	id, existing, err := c.NewActor(s, &Value{Fmt: FmtNone}, nil)
	if err != nil || existing != nil {
		t.Fatal(existing, err)
	}
	detached := oneActor()
	detached.Detached, detached.Namespace = true, "mine"
	other, _, err := c.NewActor(detached, &Value{Fmt: FmtNone}, nil)
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "both are registered", func() bool { return len(created()) == 2 })
	a, b := created()[0], created()[1]
	tok := c.ActorTokenID(id)
	if ids.Actor(a.ActorID) != id || ids.Owner(a.OwnerID) != c.self || a.OwnerAddr != c.info.Addr || ids.Job(a.JobID) != c.info.Job || a.Namespace != "test" {
		t.Errorf("the first: %+v", a)
	}
	if a.Token != fmt.Sprintf("%x@%s", tok[:], c.info.Addr) || a.Token != c.ActorToken(id) {
		t.Errorf("its token is %q", a.Token)
	}
	if len(a.Fallback) != 2 || len(a.Fallback[0].Template) != 0 || !strings.Contains(string(a.Fallback[1].Template), "other") {
		t.Errorf("its alternatives: %+v", a.Fallback)
	}
	if ids.Actor(b.ActorID) != other || b.Token != "" || b.Namespace != "mine" || c.ActorTokenID(other) != (ids.Object{}) {
		t.Errorf("the detached one: %+v", b)
	}
	ref := callActor(t, c, id, method(t, c, 0), "x")
	expectOutcome(t, c, "a call", ref, "x", "")
	letGo(t, c, tok, ref)
	c.CloseActor(other)
	waitFor(t, "no actor is known any more", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.submit.Actors) == 0
	})
}

// A registration that fails is what the calls come to, those that wait and later
// ones; the constructor's arguments are let go.
func TestNewActor_RegistrationFails_CallsSayWhy(t *testing.T) {
	for _, late := range []bool{false, true} {
		d := startDaemon(t)
		d.act(0, echoes)
		d.creations(fault.New(fault.BadRequest, "no such resource"))
		c := d.driver()
		list, objs := inStates(c, "p")
		if !late {
			completeAll(c, objs[0])
		}
		id, _, err := c.NewActor(oneActor(), &Value{Fmt: FmtBytes, Bufs: [][]byte{make([]byte, MaxInline)}}, list)
		if err != nil {
			t.Fatal(err)
		}
		tm := method(t, c, -1)
		results := []ids.Object{callActor(t, c, id, tm, "x"), callActor(t, c, id, tm, "y")}
		if late {
			if f, err := c.Get(results[0], time.Millisecond); f != nil || err != nil {
				t.Fatalf("a call is answered before the constructor's arguments are there: %v, %v", f, err)
			}
			completeAll(c, objs[0])
		}
		for range 2 {
			results = append(results, callActor(t, c, id, tm, "z"))
		}
		for _, ref := range results {
			if code, words, _ := faultIn(t, c, ref); code != fault.BadRequest || !strings.Contains(words, "no such resource") {
				t.Errorf("%s: %s", code, words)
			}
		}
		letGo(t, c, append(results, list[0], c.ActorTokenID(id))...)
		d.nothingLeft(t, c)
	}
}

// A named actor whose registration fails, or that exists, was never this process's;
// the code that was given away for it is taken back.
func TestNewActor_NameIsTaken_CodeIsTakenBack(t *testing.T) {
	for what, answer := range map[string]func(m *wire.Message){
		"it fails":  func(m *wire.Message) { _ = m.Fail(fault.New(fault.AlreadyExists, "the name is taken")) },
		"it exists": func(m *wire.Message) { _ = m.Reply(wire.ActorCreated{Existing: &wire.ActorNamed{Meta: []byte("m")}}) },
	} {
		for _, large := range []bool{true, false} {
			d := startDaemon(t)
			state := d.keepsCode()
			d.answers(wire.TActorCreate, func(m *wire.Message) bool { answer(m); return true })
			c := d.driver()
			s := oneActor()
			s.Name = "name"
			put := ids.Object{}
			if large {
				put, _, _ = largeClass(t, c, 1<<20)
				s.Code, s.Blob = put[:], nil
			}
			dep, err := c.Put(&Value{Fmt: FmtBytes, Meta: []byte("x")})
			if err != nil {
				t.Fatal(err)
			}
			id, existing, err := c.NewActor(s, &Value{Fmt: FmtNone}, []ids.Object{dep})
			if (err != nil) != (what == "it fails") || (existing != nil) != (what == "it exists") {
				t.Errorf("%s: %+v, %v", what, existing, err)
			}
			if _, _, err := c.CallActor(id, &Call{Template: method(t, c, 0)}); fault.CodeOf(err) != fault.NotFound {
				t.Errorf("%s: a call of it: %v", what, err)
			}
			if large {
				waitFor(t, "the code is taken back", func() bool { return len(state.now().dropped) == 1 })
				letGo(t, c, put, dep)
			} else {
				letGo(t, c, dep)
				if n := len(state.now().dropped); n != 0 {
					t.Errorf("%s: code that was not given is taken back %d times", what, n)
				}
			}
			d.nothingLeft(t, c)
		}
	}
}

// The constructor gets arguments of any number and size: what does not fit into
// the cluster's state its worker asks their owner for.
func TestNewActor_ManyArguments_TheStateKeepsSoManyBytesOnly(t *testing.T) {
	d := startDaemon(t)
	a := d.act(0, echoes)
	created := d.creations(nil)
	c := d.driver()
	var deps []ids.Object
	const each, fit = 90 << 10, frame.MaxTogether / (90 << 10)
	for range fit + 5 {
		id, err := c.Put(&Value{Fmt: FmtBytes, Bufs: [][]byte{make([]byte, each)}})
		if err != nil {
			t.Fatal(err)
		}
		deps = append(deps, id)
	}
	id, _, err := c.NewActor(oneActor(), &Value{Fmt: FmtNone}, deps)
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "it is registered", func() bool { return len(created()) == 1 })
	if n := len(created()[0].Spec); n > frame.MaxTogether+each || n < (fit-1)*each {
		t.Errorf("the specification has %d bytes", n)
	}
	ref := callActor(t, c, id, method(t, c, 0), "x")
	expectOutcome(t, c, "a call", ref, "x", "")
	d.eventually("it lives", func() bool { return a.alive })
	letGo(t, c, append(deps, ref, c.ActorTokenID(id))...)
}

// A handle may be quicker than the registration: its calls wait as long as the creator lives.
func TestResolve_NotRegisteredYet_CallsWaitForItsCreator(t *testing.T) {
	d := startDaemon(t)
	d.act(0, echoes)
	asks := 0
	d.answers(wire.TActorResolve, func(*wire.Message) bool { asks++; return false })
	c, other := d.driver(), d.driver()
	list, objs := inStates(c, "p")
	id, _, err := c.NewActor(oneActor(), &Value{Fmt: FmtNone}, list)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.OpenActor(id, c.ActorToken(id), "A", 0, 0); err != nil {
		t.Fatal(err)
	}
	ref := callActor(t, other, id, method(t, other, 0), "early")
	d.eventually("it is asked for again and again", func() bool { return asks >= 3 })
	if f, err := other.Get(ref, time.Millisecond); f != nil || err != nil {
		t.Fatalf("a call is answered before the actor is registered: %v, %v", f, err)
	}
	c.mu.Lock()
	c.table.Complete(objs[0], refs.Inline, text("arg").Envelope(100), 1, false)
	c.mu.Unlock()
	expectOutcome(t, other, "the early call", ref, "early", "")
	letGo(t, other, ref, other.ActorTokenID(id))
	letGo(t, c, list[0], c.ActorTokenID(id))
}

// A session that ends while an argument of a constructor is pending registers the actor no more.
func TestNewActor_SessionEndsWhileAnArgumentIsPending_NothingIsRegistered(t *testing.T) {
	d := startDaemon(t)
	d.act(0, echoes)
	created := d.creations(nil)
	c := d.driver()
	list, _ := inStates(c, "p")
	if _, _, err := c.NewActor(oneActor(), &Value{Fmt: FmtNone}, list); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	c.shut(errors.New("the program ends"))
	c.mu.Unlock()
	// What was sent before this question has arrived when the question is answered.
	if err := c.daemon.Call(t.Context(), wire.TObjStats, nil, nil); err != nil {
		t.Fatal(err)
	}
	if n := len(created()); n != 0 {
		t.Errorf("%d actors are registered by a session that has ended", n)
	}
}

// What nobody is about to register is not waited for.
func TestResolve_NobodyRegistersIt_CallsFail(t *testing.T) {
	c := startDaemon(t).driver()
	id := ids.NewActor(c.info.Job)
	if _, err := c.OpenActor(id, "", "A", 0, 0); err != nil {
		t.Fatal(err)
	}
	ref := callActor(t, c, id, method(t, c, 0), "x")
	expectOutcome(t, c, "a call of an actor that is not known", ref, "", fault.NotFound)
	letGo(t, c, ref)
}

// states answers the next questions where the actor is, one after the other.
func (d *fakeDaemon) states(list ...any) (asked func() []uint64) {
	var after []uint64
	d.answers(wire.TActorResolve, func(m *wire.Message) bool {
		var q wire.ActorResolve
		_ = m.Decode(&q)
		after = append(after, q.After)
		if len(list) == 0 {
			return false
		}
		switch x := list[0].(type) {
		case error:
			_ = m.Fail(x)
		default:
			_ = m.Reply(x)
		}
		list = list[1:]
		return true
	})
	return func() []uint64 {
		d.mu.Lock()
		defer d.mu.Unlock()
		return slices.Clone(after)
	}
}

// The end of an actor that is told in place of its address is what its calls come to.
func TestResolved_Dead_CallsGetItsCause(t *testing.T) {
	for _, x := range []struct {
		answer any
		code   fault.Code
	}{
		{wire.ActorState{State: wire.ActorDead, Message: "these words"}, fault.ActorDied},
		{wire.ActorState{State: wire.ActorDead, Cause: string(fault.OutOfMemory), Message: "these words"}, fault.OutOfMemory},
		{fault.New(fault.BadRequest, "these words"), fault.BadRequest},
		{fault.New(fault.NotFound, "these words"), fault.NotFound}, // it is this process that creates it
	} {
		d := startDaemon(t)
		d.act(0, echoes)
		asked := d.states(x.answer)
		c := d.driver()
		put, err := c.Put(&Value{Fmt: FmtBytes, Meta: []byte("x")})
		if err != nil {
			t.Fatal(err)
		}
		id, _, err := c.NewActor(oneActor(), &Value{Fmt: FmtNone}, []ids.Object{put})
		if err != nil {
			t.Fatal(err)
		}
		tm := method(t, c, -1)
		early := callActor(t, c, id, tm, "x")
		for _, ref := range []ids.Object{early, early} {
			if code, words, _ := faultIn(t, c, ref); code != x.code || !strings.Contains(words, "these words") {
				t.Errorf("%v: %s, %s", x.answer, code, words)
			}
		}
		late := callActor(t, c, id, tm, "x")
		if code, _, _ := faultIn(t, c, late); code != x.code {
			t.Errorf("%v: a later call: %s", x.answer, code)
		}
		if n := len(asked()); n != 1 {
			t.Errorf("%v: it was asked for %d times", x.answer, n)
		}
		letGo(t, c, put, early, late, c.ActorTokenID(id))
	}
}

// An actor that no node can take is told to those who wait; when one can, all calls run.
func TestResolved_NoNodeCanTakeIt_CallsRunWhenOneCan(t *testing.T) {
	d := startDaemon(t)
	d.act(0, echoes)
	d.states(wire.ActorState{State: wire.ActorUnschedulable, Message: "it needs 9 CPUs"})
	c := d.driver()
	put, err := c.Put(&Value{Fmt: FmtBytes, Meta: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	id, _, err := c.NewActor(oneActor(), &Value{Fmt: FmtNone}, []ids.Object{put})
	if err != nil {
		t.Fatal(err)
	}
	tm := method(t, c, 0)
	first := callActor(t, c, id, tm, "first")
	if code, words, _ := faultIn(t, c, first); code != fault.ActorUnschedulable || !strings.Contains(words, "9 CPUs") {
		t.Errorf("%s, %s", code, words)
	}
	c.mu.Lock()
	if k, _ := c.submit.Actors[id].Creation(); k == nil {
		t.Error("the constructor's arguments are let go although it may run")
	}
	c.mu.Unlock()
	second := callActor(t, c, id, tm, "second") // asks again
	for text, ref := range map[string]ids.Object{"first": first, "second": second} {
		waitFor(t, text+" runs", func() bool {
			f, err := c.Get(ref, testLimit)
			return err == nil && f != nil && !f.IsError && meta(t, f) == text
		})
	}
	letGo(t, c, put, first, second, c.ActorTokenID(id))
}

// An actor that cannot be reached at its address has died since, or was only
// busy: the daemon is asked about that incarnation, and says where to go on.
func TestResolved_CannotBeReached_TheDaemonIsAsked(t *testing.T) {
	d := startDaemon(t)
	a := d.act(0, echoes)
	a.lives = true
	asked := d.states(wire.ActorState{State: wire.ActorAlive, Incarnation: 1, Addr: filepath.Join(d.dir, "nobody")})
	var lost []wire.ActorLost
	d.answers(wire.TActorLost, func(m *wire.Message) bool {
		var q wire.ActorLost
		_ = m.Decode(&q)
		if q.Incarnation != wire.ActorNever {
			lost = append(lost, q)
		}
		return false
	})
	c := d.driver()
	id := newActor(t, c, ActorSpec{})
	results := []ids.Object{callActor(t, c, id, method(t, c, 0), "x"), callActor(t, c, id, method(t, c, 0), "y")}
	expectOutcome(t, c, "the first call", results[0], "x", "")
	expectOutcome(t, c, "the second call", results[1], "y", "")
	if after := asked(); !slices.Equal(after, []uint64{0, 0}) {
		t.Errorf("it was asked for after incarnations %v", after)
	}
	d.mu.Lock()
	if len(lost) != 1 || lost[0].Incarnation != 1 || ids.Actor(lost[0].ActorID) != id || lost[0].Conn == 0 {
		t.Errorf("the daemon was asked about %+v", lost)
	}
	d.mu.Unlock()
	letGo(t, c, append(results, c.ActorTokenID(id))...)
}
