package client

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// faultIn is what a failed result says: its code, its words and the task it names.
func faultIn(t *testing.T, c *Client, ref ids.Object) (code fault.Code, words, task string) {
	t.Helper()
	f, err := c.Get(ref, testLimit)
	if err != nil || f == nil {
		t.Fatalf("%v, %v", f, err)
	}
	e, err := store.Parse(f.Envelope)
	if err != nil || uint8(e.Format) != FmtFault {
		t.Fatalf("%.100q is no fault: %v", f.Envelope, err)
	}
	r := wire.NewReader(e.Meta)
	n := r.Array()
	code, words = fault.Code(r.Str()), r.Str()
	if n > 2 {
		task = r.Str()
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return code, words, task
}

// A submission that is refused leaves nothing behind: neither its large
// arguments in the store, nor a hold on what it was to take.
func TestSubmit_Refused_NothingIsLeft(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	tm := template(t, c, "f")
	put, err := c.Put(&Value{Fmt: FmtBytes, Meta: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	inner, err := c.Put(&Value{Fmt: FmtBytes, Meta: []byte("y")})
	if err != nil {
		t.Fatal(err)
	}
	args := Value{Fmt: FmtBytes, Meta: []byte("args"), Bufs: [][]byte{make([]byte, MaxInline)}, Nested: []ids.Object{inner}}
	unknown := ids.NewObject(1<<40, c.self, c.info.Job, 1)
	for what, deps := range map[string][]ids.Object{
		"an argument that is gone": {put, unknown},
		"too many references":      make([]ids.Object, 1<<20),
	} {
		first, n, err := c.Submit(&Call{Template: tm, Args: args, Deps: deps})
		if err == nil || n != 0 || first != (ids.Object{}) {
			t.Errorf("%s: %s, %d results, %v", what, first, n, err)
		}
	}
	for _, bad := range []int{-1, tm + 1, 1 << 30} {
		if _, _, err := c.Submit(&Call{Template: bad}); fault.CodeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), fmt.Sprint(bad)) {
			t.Errorf("template %d: %v", bad, err)
		}
	}
	d.mu.Lock()
	d.first = func(m *wire.Message) bool {
		if m.Type == wire.TObjCreate {
			_ = m.Fail(fault.New(fault.BadRequest, "no room for it"))
		}
		return m.Type == wire.TObjCreate
	}
	d.mu.Unlock()
	if _, _, err := c.Submit(&Call{Template: tm, Args: args, Deps: []ids.Object{put}}); err == nil || !strings.Contains(err.Error(), "no room for it") {
		t.Errorf("arguments that cannot be stored: %v", err)
	}
	d.mu.Lock()
	if len(d.wants) != 0 {
		t.Errorf("leases are wanted: %v", d.wants)
	}
	d.mu.Unlock()
	letGo(t, c, put, inner)
	d.nothingLeft(t, c)
	c.Close(0)
	if _, _, err := c.Submit(&Call{Template: tm}); err == nil {
		t.Error("a closed session takes a task")
	}
	if _, err := c.NewTemplate(&Template{Kind: KindTask, Name: "f", FID: make([]byte, 16)}); err == nil {
		t.Error("a closed session takes a template")
	}
}

// A template that cannot be is refused, and takes no number.
func TestNewTemplate_Refused_TakesNoNumber(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	first := template(t, c, "f")
	if id, err := c.NewTemplate(&Template{Kind: KindTask, Name: "f", FID: []byte("short")}); err == nil || id != 0 {
		t.Errorf("a function with a short id: %d, %v", id, err)
	}
	if id := template(t, c, "g"); id != first+1 {
		t.Errorf("the next one has number %d after %d", id, first)
	}
}

// A failure goes on to what takes it: the fault keeps the name of the task that
// failed, and what failed without one gets the name of who took it.
func TestFailLike_FaultOfAnArgument_NamesTheFirstTask(t *testing.T) {
	d := startDaemon(t)
	c, said := d.teller()
	tm := template(t, c, "f")
	failing := submitText(t, c, tm, "x")
	c.trouble(onlyClass(t, c).ID, fault.New(fault.RuntimeEnvSetup, "no such module"))
	freed, err := c.Put(&Value{Fmt: FmtBytes, Meta: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Free([]ids.Object{freed}); err != nil {
		t.Fatal(err)
	}
	good, err := c.Put(&Value{Fmt: FmtBytes, Meta: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	tasks := map[ids.Object]fault.Code{}
	for dep, code := range map[ids.Object]fault.Code{failing: fault.RuntimeEnvSetup, freed: fault.ObjectFreed} {
		one := submitText(t, c, template(t, c, "g"), "", good, dep)
		tasks[one] = code
		tasks[submitText(t, c, template(t, c, "h"), "", one, good)] = code
	}
	for ref, want := range tasks {
		code, _, task := faultIn(t, c, ref)
		if code != want || code == fault.ObjectFreed && task != "g" {
			t.Errorf("%s, want %s; the task that it names is %q", code, want, task)
		}
		c.Release(Drop{Object: ref})
	}
	letGo(t, c, failing, freed, good)
	select {
	case text := <-said:
		t.Errorf("told of a failure that another task took, or that was fetched: %q", text)
	default:
	}
}

// Of a task whose results nobody holds a fault is told, once: of one that ends
// with it, and of one that no node can run.
func TestFailTask_NobodyHoldsTheResults_IsTold(t *testing.T) {
	for _, code := range []fault.Code{fault.RuntimeEnvSetup, fault.TaskUnschedulable} {
		d := startDaemon(t)
		c, said := d.teller()
		tm := template(t, c, "f")
		held, ignored := submitText(t, c, tm, "x"), submitText(t, c, tm, "x")
		c.Release(Drop{Object: ignored})
		k := onlyClass(t, c)
		c.trouble(k.ID, fault.New(code, "these words"))
		if got := heard(t, said); !strings.Contains(got, "these words") {
			t.Errorf("%s: told %q", code, got)
		}
		if got, _, _ := faultIn(t, c, held); got != code {
			t.Errorf("%s: the other task has %s", code, got)
		}
		c.Release(Drop{Object: held})
		c.Close(0)
		select {
		case text := <-said:
			t.Errorf("%s: told once more: %q", code, text)
		default:
		}
	}
}

// Several results of one task end together, and only those that somebody holds are kept.
func TestSubmit_SeveralResults_EachIsItsOwn(t *testing.T) {
	d := startDaemon(t)
	d.worker(func(c *Client, it *Item) {
		var list []Value
		for i := range it.Tmpl.Returns {
			list = append(list, *text(fmt.Sprint(textOf(it), i)))
		}
		if err := c.Reply(it.Token, list, 0); err != nil {
			panic(err)
		}
	})
	c := d.driver()
	list := func(first ids.Object, n int) (all []ids.Object) {
		for i := range n {
			all = append(all, ids.NewObject(first.Count()+uint64(i), c.self, c.info.Job, uint32(i+1)))
		}
		return all
	}
	for _, n := range []int{0, 1, 3} {
		first, got, err := c.Submit(&Call{Template: tasks(t, c, fmt.Sprint("f", n), n, 0), Args: Value{Fmt: FmtPickle, Meta: []byte("r")}})
		if err != nil || got != n {
			t.Fatalf("%d results, %v", got, err)
		}
		all := list(first, n)
		if n == 3 {
			c.Release(Drop{Object: all[1]})
			all = []ids.Object{all[0], all[2]}
		}
		for _, id := range all {
			if want, got := fmt.Sprint("r", id.Index()-1), get(t, c, id); got != want {
				t.Errorf("of %d results: got %q, want %q", n, got, want)
			}
		}
		letGo(t, c, all...)
	}
	waitFor(t, "no task is open", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.submit.Open == 0
	})
	first, _, err := c.Submit(&Call{Template: tasks(t, c, "g", 3, 0)})
	if err != nil {
		t.Fatal(err)
	}
	all := list(first, 3)
	if err := c.Cancel(all[1], false, false); err != nil {
		t.Fatal(err)
	}
	for _, id := range all[:1] {
		if f, err := c.Get(id, testLimit); f == nil || err != nil {
			t.Errorf("%v, %v", f, err)
		}
	}
	letGo(t, c, all...)
}

// A function whose calls have all ended goes with the last of them once the program cannot call it any more.
func TestEndTask_LastCallOfARetiredFunction_ItsNumberIsFree(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	tm := template(t, c, "f")
	one, two := submitText(t, c, tm, "1"), submitText(t, c, tm, "2")
	c.Retire(tm)
	c.mu.Lock()
	if c.submit.Templates[tm] == nil {
		t.Error("the function goes while tasks of it wait")
	}
	c.mu.Unlock()
	d.worker(echo)
	expectOutcome(t, c, "the first", one, "1", "")
	expectOutcome(t, c, "the second", two, "2", "")
	waitFor(t, "the function has gone", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.submit.Templates[tm] == nil
	})
	if next := template(t, c, "g"); next != tm {
		t.Errorf("the next function has number %d, want %d again", next, tm)
	}
}

// What a call of an actor returned is computed again after what the call takes,
// and then goes before the calls that wait; large arguments are in the store.
func TestReal_ActorResultLostWithItsArgument_BothComeBack(t *testing.T) {
	r := startReal(t, 2)
	a := r.actor("", nil)
	path := r.file()
	takes := r.submit("large", 3, path)
	gives := callActor(t, r.Client, a, r.method("echo", 3), strings.Repeat("y", MaxInline), takes)
	r.expect(takes, "1", "")
	f, err := r.Get(gives, testLimit)
	if err != nil || f == nil || f.View == 0 {
		t.Fatalf("%v, %v", f, err)
	}
	r.Release(Drop{View: f.View})
	r.eventually("both are lost", func() bool {
		one, err1 := r.Lose(takes)
		two, err2 := r.Lose(gives)
		return err1 == nil && err2 == nil && one && two
	})
	text, code := outcome(t, r.Client, gives)
	n := runsIn(path) // once, if the actor's process still looks at what it took; that may end while the second run goes on
	what := func(run int) string { return fmt.Sprintf("%s%d<1048576>", strings.Repeat("y", MaxInline), run) }
	if text != what(1) && text != what(n) || code != "" || n > 2 {
		t.Errorf("got %d bytes ending in %.20q, %s; the argument was computed %d times", len(text), text[max(0, len(text)-20):], code, n)
	}
	pid := r.pid(a)
	for _, id := range []ids.Object{takes, gives, r.ActorTokenID(a)} {
		r.Release(Drop{Object: id})
	}
	r.eventually("the actor's process ends with its handle", func() bool {
		tool := r.s.Tool()
		return tool.Stats().Objects == 0 && !play.Running(pid)
	})
}

// A cancelled task that waits for an argument does not begin when that comes.
func TestDepReady_CancelledTask_DoesNotBegin(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	tm := template(t, c, "f")
	list, objs := pendingObjects(c, 2)
	waits, both := submitText(t, c, tm, "a", *list[0]), submitText(t, c, tm, "b", *list[0], *list[1])
	if f, err := c.Get(both, time.Millisecond); f != nil || err != nil {
		t.Fatalf("%v, %v", f, err)
	}
	if err := c.Cancel(waits, false, false); err != nil {
		t.Fatal(err)
	}
	completeAll(c, objs[0])
	c.mu.Lock()
	if len(c.submit.Classes) == 1 && onlyLocked(c).Queue.Len() != 0 {
		t.Error("a task is queued that is cancelled, or waits for another argument")
	}
	c.mu.Unlock()
	completeAll(c, objs[1])
	c.mu.Lock()
	if n := onlyLocked(c).Queue.Len(); n != 1 {
		t.Errorf("%d tasks are queued, want the one whose arguments are there", n)
	}
	c.mu.Unlock()
	expectOutcome(t, c, "the cancelled task", waits, "", fault.TaskCancelled)
	if err := c.Cancel(both, false, false); err != nil {
		t.Fatal(err)
	}
	letGo(t, c, waits, both, *list[0], *list[1])
}

// onlyLocked is onlyClass with the lock held.
func onlyLocked(c *Client) *submit.Class {
	for _, k := range c.submit.Classes {
		return k
	}
	return nil
}
