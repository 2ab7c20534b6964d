package client

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/transport"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// An actor takes so many calls without an answer and no more; when one of them has its answer the next may come.
func TestCallActor_PendingCalls_AreBounded(t *testing.T) {
	d := startDaemon(t)
	gate := make(chan struct{})
	d.act(0, func(_ uint64, w *Client, it *Item) {
		<-gate
		echo(w, it)
	})
	c := d.driver()
	for _, limit := range []int{1, 2} {
		id := newActor(t, c, ActorSpec{ActorCreate: wire.ActorCreate{MaxPendingCalls: limit}})
		tm := method(t, c, 0)
		var results []ids.Object
		for range limit {
			results = append(results, callActor(t, c, id, tm, "x"))
		}
		call := &Call{Template: tm, Args: Value{Fmt: FmtPickle, Meta: []byte("y")}}
		if first, n, err := c.CallActor(id, call); fault.CodeOf(err) != fault.PendingCallsLimit || n != 0 || first != (ids.Object{}) {
			t.Errorf("limit %d: call %d: %s, %d results, %v", limit, limit+1, first, n, err)
		}
		if _, n, err := c.CallActor(id, &Call{Template: 1 << 20}); err == nil || n != 0 {
			t.Errorf("a method that does not exist: %d results, %v", n, err)
		}
		if err := c.Cancel(results[0], false, false); err != nil {
			t.Fatal(err)
		}
		if limit == 1 {
			close(gate)
		}
		outcome(t, c, results[0])
		results = append(results, callActor(t, c, id, tm, "z"))
		expectOutcome(t, c, "the next call", results[limit], "z", "")
		letGo(t, c, append(results, c.ActorTokenID(id))...)
	}
}

// Arguments that are too many bytes for one message go to the arena before an actor's call is sent; later calls wait for that.
func TestCallActor_ManyBytesOfArguments_MoveToTheArenaFirst(t *testing.T) {
	d := startDaemon(t)
	var order []string
	d.act(0, func(_ uint64, w *Client, it *Item) {
		said := textOf(it)
		for i, f := range it.Deps {
			if f.View == 0 {
				said += " inline"
			}
			w.Release(Drop{View: it.Deps[i].View})
		}
		d.mu.Lock()
		order = append(order, said)
		d.mu.Unlock()
		answers(t, w, it, fmt.Sprint(len(it.Deps)))
	})
	c := d.driver()
	id := newActor(t, c, ActorSpec{})
	var deps []ids.Object
	const each = 90 << 10
	for range frame.MaxTogether/each + 1 {
		deps = append(deps, putBytes(t, c, each, 1))
	}
	tm := method(t, c, 0)
	expectOutcome(t, c, "a call that fits", callActor(t, c, id, tm, "fits", deps[0]), "1", "")
	many, next := callActor(t, c, id, tm, "many", deps...), callActor(t, c, id, tm, "next")
	expectOutcome(t, c, "the next call", next, "0", "")
	expectOutcome(t, c, "the call with many arguments", many, fmt.Sprint(len(deps)), "")
	d.mu.Lock()
	if want := []string{"fits inline", "many", "next"}; !slices.Equal(order, want) {
		t.Errorf("the actor got %q, want %q", order, want)
	}
	d.mu.Unlock()
	c.mu.Lock()
	if c.submit.Unqueued != 0 {
		t.Errorf("%d calls wait for their arguments to move", c.submit.Unqueued)
	}
	c.mu.Unlock()
	for _, x := range deps[1:] {
		holdsBytes(t, c, x, each, 1)
	}
}

// When an actor's address is known, the calls of all groups leave that wait for nothing;
// a call whose argument is late holds its own group, also one that comes later.
func TestPumpGroups_CallsWaitedForTheActor_OnlyLateGroupsStay(t *testing.T) {
	d := startDaemon(t)
	a := d.act(0, func(_ uint64, w *Client, it *Item) { answers(t, w, it, textOf(it)) })
	names := []string{"", "io", "disk"}
	a.construct = func(w *Client) {
		if err := w.DeclareGroups(names[1:], nil); err != nil {
			t.Error(err)
		}
		for _, name := range names[1:] {
			go func() {
				for {
					it, err := w.NextTask(-1, name)
					if err != nil || it != nil && it.Kind == ItemExit {
						return
					}
					if it != nil {
						answers(t, w, it, textOf(it))
					}
				}
			}()
		}
	}
	c := d.driver()
	born, objs := pendingObjects(c, 2)
	id, _, err := c.NewActor(oneActor(), &Value{Fmt: FmtNone}, []ids.Object{*born[0]})
	if err != nil {
		t.Fatal(err)
	}
	tms := map[string]int{}
	for _, name := range names {
		tm, err := c.NewTemplate(&Template{Kind: KindMethod, Name: "A.m", Method: "m", Returns: 1, Group: name})
		if err != nil {
			t.Fatal(err)
		}
		tms[name] = tm
	}
	results := map[string]ids.Object{}
	call := func(group, text string, deps ...ids.Object) {
		results[text] = callActor(t, c, id, tms[group], text, deps...)
	}
	answered := func(list ...string) {
		t.Helper()
		for _, text := range list {
			expectOutcome(t, c, text, results[text], text, "")
		}
	}
	late := *born[1]
	call("io", "io 1", late)
	call("io", "io 2")
	call("", "plain 1")
	call("disk", "disk 1")
	call("", "plain 2")
	completeAll(c, objs[0])
	answered("plain 1", "disk 1", "plain 2")
	call("", "plain 3", late)
	call("", "plain 4")
	call("disk", "disk 2")
	answered("disk 2")
	for _, text := range []string{"io 1", "io 2", "plain 3", "plain 4"} {
		if f, err := c.Get(results[text], 0); f != nil || err != nil {
			t.Errorf("%s does not wait: %v, %v", text, f, err)
		}
	}
	completeAll(c, objs[1])
	answered("io 1", "io 2", "plain 3", "plain 4")
}

// Nobody asks where an actor is that has no calls left, or whose connection broke while it had none.
func TestPumpActor_NoCallsLeft_NobodyAsksForTheActor(t *testing.T) {
	d := startDaemon(t)
	a := d.act(0, echoes)
	asked := d.states(wire.ActorState{State: wire.ActorUnschedulable, Message: "no node has it"})
	lost := 0
	d.answers(wire.TActorLost, func(*wire.Message) bool { lost++; return false })
	c := d.driver()
	id := newActor(t, c, ActorSpec{})
	tm := method(t, c, 0)
	ref := callActor(t, c, id, tm, "x")
	if code, _, _ := faultIn(t, c, ref); code != fault.ActorUnschedulable {
		t.Fatal(code)
	}
	if err := c.Cancel(ref, false, false); err != nil {
		t.Fatal(err)
	}
	heardAll := func() {
		t.Helper()
		if err := c.daemon.Call(t.Context(), wire.TObjStats, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	heardAll()
	if n := len(asked()); n != 1 {
		t.Errorf("it was asked for %d times, want once", n)
	}
	next := callActor(t, c, id, tm, "y")
	waitFor(t, "the next call is answered", func() bool {
		f, err := c.Get(next, testLimit)
		return err == nil && f != nil && !f.IsError && meta(t, f) == "y"
	})
	before := len(asked())
	d.eventually("the actor lives", func() bool { return a.alive })
	die(a.worker)
	waitFor(t, "the connection is gone", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.poller.Glance()
		return c.submit.Actors[id].Channel == nil
	})
	heardAll()
	d.mu.Lock()
	if lost != 0 {
		t.Errorf("the daemon was asked %d times what became of no calls", lost)
	}
	d.mu.Unlock()
	if n := len(asked()); n != before {
		t.Errorf("it was asked for %d times, want %d", n, before)
	}
}

// A call that is cancelled while it is not known what became of it ends at once, and once; the others go on.
func TestForgetSent_CancelledBeforeItIsKnownWhetherItRan_EndsOnce(t *testing.T) {
	d := startDaemon(t)
	a := d.mortal(-1, true)
	var ran []string
	a.next = func(w *Client, it *Item) {
		d.mu.Lock()
		ran = append(ran, textOf(it))
		d.mu.Unlock()
		echo(w, it)
	}
	var held *wire.Message
	d.answers(wire.TActorLost, func(m *wire.Message) bool {
		var q wire.ActorLost
		_ = m.Decode(&q)
		if q.Incarnation == wire.ActorNever || held != nil {
			return false
		}
		held = m
		return true
	})
	c := d.driver()
	id := a.create(t, c)
	tm := method(t, c, -1)
	var results []ids.Object
	for i := range 3 {
		results = append(results, callActor(t, c, id, tm, fmt.Sprint(i)))
	}
	<-a.runs
	close(a.ends)
	d.eventually("the daemon is asked what became of the calls", func() bool { return held != nil })
	if err := c.Cancel(results[1], false, false); err != nil {
		t.Fatal(err)
	}
	expectOutcome(t, c, "the cancelled call", results[1], "", fault.TaskCancelled)
	d.mu.Lock()
	d.ask(id[:], asked{m: held, after: 1, lost: &wire.ActorLost{ActorID: id[:], Incarnation: 1}})
	d.mu.Unlock()
	expectOutcome(t, c, "the first call", results[0], "0", "")
	expectOutcome(t, c, "the last call", results[2], "2", "")
	d.mu.Lock()
	if want := []string{"0", "2"}; !slices.Equal(ran, want) {
		t.Errorf("the next incarnation ran %q, want %q", ran, want)
	}
	d.mu.Unlock()
	c.mu.Lock()
	if n := c.submit.Actors[id].Pending; n != 0 || c.submit.Open != 0 {
		t.Errorf("%d calls are pending, %d are unfinished", n, c.submit.Open)
	}
	c.mu.Unlock()
	letGo(t, c, append(results, c.ActorTokenID(id))...)
}

// fileDialer gives a descriptor that no poller takes.
type fileDialer struct {
	transport.UnixDialer
	path string
}

func (f fileDialer) Dial(string, wire.Hello, int) (int, error) {
	return unix.Open(f.path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
}

// A connection that cannot be watched ends the session: its answers would never be read.
func TestResolved_ConnectionCannotBeWatched_SessionEnds(t *testing.T) {
	for _, leased := range []bool{true, false} {
		d := startDaemon(t)
		d.act(0, echoes)
		c := d.driver()
		path := filepath.Join(d.dir, "file")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		c.mu.Lock()
		c.dialer = fileDialer{path: path}
		c.mu.Unlock()
		if leased {
			d.worker(echo)
			submitText(t, c, template(t, c, "f"), "x")
		} else {
			callActor(t, c, newActor(t, c, ActorSpec{}), method(t, c, 0), "x")
		}
		waitFor(t, "the session has ended", func() bool { return c.Err() != nil })
	}
}
