package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// actor creates one whose constructor is given a text and these objects.
func (r *real) actor(text string, change func(*ActorSpec), deps ...ids.Object) ids.Actor {
	r.t.Helper()
	s := realActor()
	s.Resources = play.Units(play.OneCPU)
	if change != nil {
		change(&s)
	}
	id, _, err := r.NewActor(&s, &Value{Fmt: FmtPickle, Meta: []byte(text)}, deps)
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

func (r *real) method(name string, retries int) int {
	r.t.Helper()
	tm, err := r.NewTemplate(&Template{Kind: KindMethod, Name: "A." + name, Method: name, Returns: 1, MaxRetries: retries})
	if err != nil {
		r.t.Fatal(err)
	}
	return tm
}

func (r *real) call(id ids.Actor, name, text string, deps ...ids.Object) ids.Object {
	r.t.Helper()
	return callActor(r.t, r.Client, id, r.method(name, 0), text, deps...)
}

// pid is the process of an actor.
func (r *real) pid(id ids.Actor) int {
	r.t.Helper()
	said, code := outcome(r.t, r.Client, r.call(id, "pid", ""))
	pid, err := strconv.Atoi(said)
	if err != nil {
		r.t.Fatalf("%q, %s", said, code)
	}
	return pid
}

func TestReal_Actor_CallsRunInOrder_ItEndsWithItsHandles(t *testing.T) {
	r := startReal(t, 1)
	late := r.submit("echo", 0, "xy")
	a := r.actor("abc", nil, late) // its constructor waits for an argument
	var results []ids.Object
	for range 20 {
		results = append(results, r.call(a, "add", ""))
	}
	for i, ref := range results {
		r.expect(ref, fmt.Sprint(5+i+1), "")
	}
	slow := r.submit("echo", 0, "late")
	r.expect(r.call(a, "echo", "it is ", slow), "it is late", "")
	pid := r.pid(a)
	r.Release(Drop{Object: r.ActorTokenID(a)})
	r.eventually("its process ends with the last handle", func() bool { return !play.Running(pid) })
	if _, _, err := r.CallActor(a, &Call{Template: r.method("add", 0)}); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("a call without a handle: %v", err)
	}
}

func TestReal_Actor_HandleElsewhere_KeepsIt(t *testing.T) {
	r := startReal(t, 1)
	other := joinReal(t, r.s)
	a := r.actor("", nil)
	pid := r.pid(a)
	token := r.ActorToken(a)
	tok, err := other.OpenActor(a, token, "A", 0, 0)
	if err != nil || tok != r.ActorTokenID(a) || tok != other.ActorTokenID(a) {
		t.Fatalf("%s, %v", tok, err)
	}
	other.expect(other.call(a, "add", ""), "1", "")
	r.eventually("the owner knows of the second handle", func() bool {
		other.mu.Lock()
		defer other.mu.Unlock()
		return other.table.Unregistered() == 0
	})
	r.Release(Drop{Object: tok})
	other.expect(other.call(a, "add", ""), "2", "")
	if !play.Running(pid) {
		t.Error("it ends while another process has a handle")
	}
	other.Release(Drop{Object: tok})
	r.eventually("its process ends with the last handle", func() bool { return !play.Running(pid) })
	for _, bad := range []string{"no address", "zz@/x", "0102@/x"} {
		if _, err := other.OpenActor(ids.NewActor(other.info.Job), bad, "A", 0, 0); fault.CodeOf(err) != fault.BadRequest {
			t.Errorf("token %q: %v", bad, err)
		}
	}
}

func TestReal_Actor_NamedAndDetached_StaysAndIsFound(t *testing.T) {
	r := startReal(t, 2)
	other := joinReal(t, r.s)
	named := func(s *ActorSpec) { s.Name, s.Detached, s.Meta = "it", true, []byte("meta") }
	a := other.actor("", named)
	other.expect(other.call(a, "add", ""), "1", "")
	if token := other.ActorToken(a); token != "" {
		t.Errorf("a detached actor is counted by %q", token)
	}
	s := realActor()
	s.Name, s.GetIfExists = "it", true
	if _, found, err := r.NewActor(&s, &Value{Fmt: FmtNone}, nil); err != nil || found == nil || ids.Actor(found.ActorID) != a || string(found.Meta) != "meta" {
		t.Fatalf("%+v, %v", found, err)
	}
	s.GetIfExists = false
	if _, _, err := r.NewActor(&s, &Value{Fmt: FmtNone}, nil); fault.CodeOf(err) != fault.AlreadyExists {
		t.Errorf("the name a second time: %v", err)
	}
	other.Close(0)
	for range 2 {
		if _, err := r.OpenActor(a, "", "A", 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	r.CloseActor(a)
	r.expect(r.call(a, "add", ""), "2", "")
	r.CloseActor(a)
	if _, _, err := r.CallActor(a, &Call{Template: r.method("add", 0)}); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("a call without a handle: %v", err)
	}
	if err := r.KillActor(a, true); err != nil {
		t.Fatal(err)
	}
}

func TestReal_Actor_Restarts_CallsAreTriedAgainWhenTheyMay(t *testing.T) {
	r := startReal(t, 1)
	deps := r.submit("large", 0, r.file())
	a := r.actor("abc", func(s *ActorSpec) { s.MaxRestarts = 1 }, deps)
	pid := r.pid(a)
	r.Release(Drop{Object: deps}) // its constructor may need it again
	path := r.file()
	waits := callActor(t, r.Client, a, r.method("wait", 0), path)
	retried := callActor(t, r.Client, a, r.method("add", 3), "")
	r.eventually("it runs", func() bool { return runsIn(path+".begun") > 0 })
	_ = unix.Kill(pid, unix.SIGKILL)
	r.expect(waits, "", fault.ActorUnavailable)
	text, code := outcome(t, r.Client, retried)
	if n, _ := strconv.Atoi(text); code != "" || n <= len("abc") {
		t.Errorf("the call that may be tried again: %q, %s", text, code)
	}
	again := r.pid(a)
	if again == pid {
		t.Fatal("it did not restart")
	}
	_ = unix.Kill(again, unix.SIGKILL)
	r.eventually("it is dead for good", func() bool {
		_, code := outcome(t, r.Client, r.call(a, "add", ""))
		return code == fault.ActorDied
	})
	r.eventually("what its constructor took is let go", func() bool { return r.s.Tool().Stats().Objects == 0 })
}

func TestReal_Actor_Killed_CallsFail(t *testing.T) {
	r := startReal(t, 1)
	a := r.actor("", func(s *ActorSpec) { s.MaxRestarts = -1 })
	pid := r.pid(a)
	if err := r.KillActor(a, false); err != nil {
		t.Fatal(err)
	}
	if next := r.pid(a); next == pid || play.Running(pid) {
		t.Errorf("pid %d after %d", next, pid)
	}
	path := r.file()
	waits := r.call(a, "wait", path)
	r.eventually("it runs", func() bool { return runsIn(path+".begun") > 0 })
	behind := r.call(a, "add", "")
	if err := r.KillActor(a, true); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []ids.Object{waits, behind, r.call(a, "add", "")} {
		r.expect(ref, "", fault.ActorDied)
	}
}

// What a constructor raised is what all calls raise, also when it is large.
func TestReal_Actor_ConstructorFails_CallsTellWhy(t *testing.T) {
	r := startReal(t, 1)
	for text, want := range map[string]string{"raises": "ValueError: no", "raises much": "much much"} {
		a := r.actor(text, nil)
		early := r.call(a, "add", "")
		for _, ref := range []ids.Object{early, r.call(a, "add", "")} {
			f, err := r.Get(ref, play.Limit)
			if err != nil || !f.IsError {
				t.Fatalf("%s: %+v, %v", text, f, err)
			}
			all, err := r.Follow(f.Envelope)
			if e, _ := store.Parse(all); err != nil || !strings.Contains(string(e.Meta), want) {
				t.Errorf("%s: %.200q, %v", text, all, err)
			}
			r.Release(Drop{Object: ref})
		}
		r.Release(Drop{Object: r.ActorTokenID(a)})
	}
	r.empty()
	a := r.actor("dies", nil)
	r.expect(r.call(a, "add", ""), "", fault.ActorDied)
}

func TestReal_Actor_NoNodeCanTakeIt_IsTold(t *testing.T) {
	r := startReal(t, 1)
	a := r.actor("", func(s *ActorSpec) { s.Resources = play.Units(map[string]float64{"CPU": 64}) })
	first := r.call(a, "add", "")
	r.expect(first, "", fault.ActorUnschedulable)
	r.expect(r.call(a, "add", ""), "", fault.ActorUnschedulable)
}

func TestReal_Actor_CallsThatWait(t *testing.T) {
	r := startReal(t, 2)
	a := r.actor("", func(s *ActorSpec) { s.MaxPendingCalls = 3 })
	path := r.file()
	waits := r.call(a, "wait", path)
	r.eventually("it runs", func() bool { return runsIn(path+".begun") > 0 })
	queued, last := r.call(a, "add", ""), r.call(a, "add", "")
	if _, _, err := r.CallActor(a, &Call{Template: r.method("add", 0)}); fault.CodeOf(err) != fault.PendingCallsLimit {
		t.Errorf("a fourth call: %v", err)
	}
	if err := r.Cancel(queued, true, false); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("a call cancelled with force: %v", err)
	}
	for _, id := range []ids.Object{queued, waits} {
		if err := r.Cancel(id, false, false); err != nil {
			t.Fatal(err)
		}
		r.expect(id, "", fault.TaskCancelled)
	}
	r.expect(last, "1", "")
	if n := runsIn(path + ".cancelled"); n != 1 {
		t.Errorf("the running call has heard %d cancellations", n)
	}
}

func TestReal_Generator_ItemsComeAsTheyAreTaken(t *testing.T) {
	r := startReal(t, 1)
	for _, limit := range []uint64{0, 2} {
		tm := r.template("numbers", 0, func(tm *Template) { tm.Flow = Flow{Mode: FlowStream, Limit: limit} })
		gen := submitText(t, r.Client, tm, "......")
		for i := range 6 {
			peek, err := r.PeekItem(gen)
			if err != nil {
				t.Fatal(err)
			}
			r.expect(peek, fmt.Sprint(i), "")
			id, st, err := r.NextItemContext(context.Background(), gen)
			if err != nil || st != StreamItem || id != peek {
				t.Fatalf("%s, %v, %v", id, st, err)
			}
			r.Release(Drop{Object: id})
			r.Release(Drop{Object: peek})
		}
		if _, st, err := r.NextItem(gen, play.Limit); err != nil || st != StreamEnd {
			t.Errorf("%v, %v", st, err)
		}
		if st, err := r.Stream(gen); err != nil || st != StreamEnd {
			t.Errorf("%v, %v", st, err)
		}
		leave(r.Client, gen)
	}
	if _, err := r.Stream(ids.NewObject(9, r.self, r.info.Job, 1)); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("a generator that nobody called: %v", err)
	}
	r.empty()
}

// An event loop is told of what has come, and a get of it then returns at once.
func TestReal_EventLoop_IsRungWhenItHasCome(t *testing.T) {
	r := startReal(t, 1)
	path := r.file()
	waits, large := r.submit("wait", 0, path), r.submit("large", 0, r.file())
	for i, id := range []ids.Object{waits, large} {
		if ready, err := r.AsyncWatch(id, uint64(i+1)); err != nil || ready {
			t.Fatalf("%v, %v", ready, err)
		}
	}
	r.eventually("it runs", func() bool { return runsIn(path+".begun") > 0 })
	if got := r.AsyncDrain(); len(got) != 0 {
		t.Fatalf("rung for %v", got)
	}
	if err := r.Cancel(waits, false, false); err != nil {
		t.Fatal(err)
	}
	var rung []uint64
	for len(rung) < 2 {
		p := []unix.PollFd{{Fd: int32(r.AsyncFD()), Events: unix.POLLIN}}
		if n, err := unix.Poll(p, int(play.Limit.Milliseconds())); err != nil && !errors.Is(err, unix.EINTR) || n == 0 && err == nil {
			t.Fatalf("rung for %v only: %v", rung, err)
		}
		rung = append(rung, r.AsyncDrain()...)
	}
	if f, err := r.TryGet(large); err != nil || f.View == 0 || !strings.Contains(string(f.Envelope[:100]), "1") {
		t.Errorf("%+v, %v", f, err)
	} else {
		r.Release(Drop{View: f.View})
	}
	if ready, err := r.AsyncWatch(large, 3); err != nil || !ready {
		t.Errorf("what is there: %v, %v", ready, err)
	}
}

// A context ends waits, and what came is given.
func TestReal_Contexts_EndWaits(t *testing.T) {
	r := startReal(t, 1)
	path := r.file()
	waits := r.submit("wait", 0, path)
	ended, cancel := context.WithCancel(context.Background())
	r.eventually("it runs", func() bool { return runsIn(path+".begun") > 0 })
	cancel()
	if _, err := r.GetContext(ended, waits); !errors.Is(err, context.Canceled) {
		t.Errorf("get: %v", err)
	}
	none := func(int, bool) {}
	if err := r.WaitContext(ended, []ids.Object{waits}, 1, none); !errors.Is(err, context.Canceled) {
		t.Errorf("wait: %v", err)
	}
	if err := r.Ask(ended, wire.TClusterInfo, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("ask: %v", err)
	}
	if err := r.Cancel(waits, false, false); err != nil {
		t.Fatal(err)
	}
	ready := 0
	if err := r.WaitContext(context.Background(), []ids.Object{waits}, 1, func(_ int, ok bool) {
		if ok {
			ready++
		}
	}); err != nil || ready != 1 {
		t.Errorf("%d are ready, %v", ready, err)
	}
	if f, err := r.GetContext(context.Background(), waits); err != nil || !f.IsError {
		t.Errorf("%+v, %v", f, err)
	}
	var info wire.ClusterInfo
	if err := r.Ask(context.Background(), wire.TClusterInfo, nil, &info); err != nil || info.Jobs != 1 {
		t.Errorf("%+v, %v", info, err)
	}
	if err := r.DefineEnv(play.Environment(t, r.s.Dir, "other", nil)); err != nil {
		t.Fatal(err)
	}
	other := submitText(t, r.Client, r.template("echo", 0, func(tm *Template) { tm.EnvKey = "other" }), "x")
	r.expect(other, "x", "")
}

// What a call takes may be lost, and so may what it has returned: both are
// computed again, and later calls do not overtake the one that waits.
func TestReal_Actor_LostArgumentsAndResults_ComeBack(t *testing.T) {
	r := startReal(t, 2)
	a := r.actor("", nil)
	one, two := r.file(), r.file()
	takes := r.submit("large", 3, one)
	gives := callActor(t, r.Client, a, r.method("large", 3), two)
	r.expect(takes, "1", "")
	r.expect(gives, "1", "")
	for _, id := range []ids.Object{takes, gives} {
		if gone, err := r.Lose(id); err != nil || !gone {
			t.Fatalf("%v, %v", gone, err)
		}
	}
	waits, behind := r.call(a, "add", "", takes), r.call(a, "add", "")
	r.expect(waits, "1", "")
	r.expect(behind, "2", "")
	r.expect(gives, "2", "")
	if runsIn(one) != 2 || runsIn(two) != 2 {
		t.Errorf("they ran %d and %d times, want 2 and 2", runsIn(one), runsIn(two))
	}
	if gone, err := r.Lose(gives); err != nil || !gone {
		t.Fatalf("%v, %v", gone, err)
	}
	r.expect(r.call(a, "echo", "", gives), "3<1048576>", "")
}

// A worker that has created an actor and ends hands its handle to a successor.
func TestReal_Actor_ItsCreatorEnds_ASuccessorCountsItsHandles(t *testing.T) {
	r := startReal(t, 2)
	opened := r.file() // is there when this process has a handle: until then the creator's call keeps the actor
	outer := submitText(t, r.Client, r.template("creates", 0, func(tm *Template) { tm.MaxCalls = 1 }), "ab "+opened)
	said, code := outcome(t, r.Client, outer)
	text, token, ok := strings.Cut(said, " ")
	var a []byte
	if _, err := fmt.Sscanf(text, "%x", &a); err != nil || !ok || len(a) != ids.ActorSize {
		t.Fatalf("%q, %s", said, code)
	}
	id := ids.Actor(a)
	if _, err := r.OpenActor(id, token, "A", 0, 0); err != nil { // the token came as text, which holds nothing
		t.Fatal(err)
	}
	r.eventually("the actor's owner knows of this handle", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.table.Unregistered() == 0
	})
	if err := os.WriteFile(opened, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.eventually("its creator has ended", func() bool {
		var c wire.Census
		r.s.Tool().Call(wire.TCensus, wire.CensusAsk{}, &c)
		for _, w := range c.Parts[0].Workers {
			if !w.Alive && w.Role == wire.RoleWorker {
				return true
			}
		}
		return false
	})
	// The creator has called it once, in whatever order with the calls from here.
	mine := 0
	r.eventually("its creator's call has run", func() bool {
		mine++
		said, code := outcome(t, r.Client, r.call(id, "add", ""))
		if n, err := strconv.Atoi(said); err != nil || n > len("ab")+1+mine {
			t.Fatalf("call %d: %q, %s", mine, said, code)
		}
		return said == fmt.Sprint(len("ab")+1+mine)
	})
	pid := r.pid(id)
	r.Release(Drop{Object: outer})
	r.Release(Drop{Object: r.ActorTokenID(id)})
	r.eventually("its process ends with the last handle", func() bool { return !play.Running(pid) })
}
