package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// inStates makes one object for each letter: r is ready, e holds an exception,
// h is infeasible, and p is pending.
func inStates(c *Client, states string) (list []ids.Object, objs []*refs.Object) {
	at, objs := pendingObjects(c, len(states))
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, s := range states {
		switch o := objs[i]; s {
		case 'r':
			c.table.Complete(o, refs.Inline, text("value").Envelope(100), 1, false)
		case 'e':
			v := exception("no")
			total := v.Size()
			c.table.Complete(o, refs.Inline, v.Envelope(total), 1, true)
		case 'h':
			c.table.Infeasible(o, fault.New(fault.TaskUnschedulable, "no node has it"))
		}
		list = append(list, *at[i])
	}
	return list, objs
}

// A wait says at once what it can say: how many are ready is compared with how
// many are needed, and a wait for all ends with the first that has failed.
func TestWait_WhatIsThereDecides_ItEndsAtOnceOrAtItsTimeout(t *testing.T) {
	c := startDaemon(t).driver()
	for _, x := range []struct {
		states     string
		need       int
		mode       WaitMode
		ends       bool
		infeasible int
	}{
		{"rp", 1, WaitSome, true, 0},
		{"rp", 2, WaitSome, false, 0},
		{"rp", 2, WaitAll, false, 0},
		{"rp", 0, WaitSome, true, 0},
		{"rrp", 1, WaitSome, true, 0},
		{"pp", 1, WaitSome, false, 0},
		{"ep", 2, WaitSome, false, 0},
		{"ep", 2, WaitAll, true, 0},
		{"er", 2, WaitAll, true, 0},
		{"rr", 2, WaitAll, true, 0},
		{"rr", 2, WaitHere, true, 0},
		{"hp", 1, WaitSome, false, 1},
		{"hp", 2, WaitAll, true, 1},
		{"hh", 1, WaitSome, true, 2},
		{"hhr", 2, WaitSome, true, 2},
		{"hrp", 1, WaitSome, true, 1},
		{"hrp", 2, WaitHere, false, 1},
	} {
		name := fmt.Sprintf("%s, %d needed, mode %d", x.states, x.need, x.mode)
		list, objs := inStates(c, x.states)
		marked := ""
		timeout := time.Millisecond
		if x.ends {
			timeout = -1 // it has to end without one
		}
		infeasible, done, err := c.Wait(list, x.need, timeout, x.mode, func(i int, ready bool) {
			if i != len(marked) {
				t.Errorf("%s: object %d is told after %d others", name, i, len(marked))
			}
			marked += map[bool]string{true: "1", false: "0"}[ready]
		})
		if err != nil || done != x.ends || infeasible != x.infeasible {
			t.Errorf("%s: %d are infeasible, ended %v, %v", name, infeasible, done, err)
		}
		for i, o := range objs {
			ready := x.states[i] == 'r' || x.states[i] == 'e'
			if len(marked) != len(objs) || (marked[i] == '1') != ready {
				t.Errorf("%s: told %q", name, marked)
				break
			}
			if looked := x.states[i] == 'e' || x.states[i] == 'h'; o.Seen() != looked {
				t.Errorf("%s: the program was told of the failure of object %d: %v", name, i, o.Seen())
			}
		}
	}
}

// The calls of the public interface refuse what is not known, and all of a session that has ended.
func TestWait_UnknownObjectOrClosedSession_IsRefused(t *testing.T) {
	d := startDaemon(t)
	c, other := d.driver(), d.driver()
	mine, foreign := ids.NewObject(1<<40, c.self, c.info.Job, 1), ids.NewObject(1, other.self, c.info.Job, 1)
	list, _ := inStates(c, "r")
	try := func(id ids.Object, what string, ok func(error) bool) {
		t.Helper()
		_, _, waited := c.Wait([]ids.Object{list[0], id}, 1, 0, WaitSome, func(int, bool) { t.Errorf("%s: a wait that is refused tells something", what) })
		_, got := c.Get(id, 0)
		ready, asked := c.Ready(id)
		watched, async := c.AsyncWatch(id, 1)
		if ready || watched {
			t.Errorf("%s is ready", what)
		}
		for call, err := range map[string]error{"Wait": waited, "Get": got, "Ready": asked, "AsyncWatch": async} {
			if !ok(err) {
				t.Errorf("%s: %s says %v", what, call, err)
			}
		}
	}
	try(mine, "an object whose last reference is gone", func(err error) bool { return fault.CodeOf(err) == fault.ObjectLost })
	try(foreign, "an object of another session", func(err error) bool { return fault.CodeOf(err) == fault.BadRequest })
	if f, err := c.TryGet(mine); err != nil || f.Envelope != nil {
		t.Errorf("what is not known is at hand: %+v, %v", f, err)
	}
	if f, err := c.TryGet(list[0]); err != nil || len(f.Envelope) == 0 {
		t.Errorf("what is there is not at hand: %+v, %v", f, err)
	}
	c.Close(0)
	why := c.Err()
	try(list[0], "a closed session", func(err error) bool { return err != nil && errors.Is(err, why) })
	if _, err := c.TryGet(list[0]); !errors.Is(err, why) {
		t.Errorf("a closed session: TryGet says %v", err)
	}
}

// What was infeasible and may come after all counts again for those who wait for
// it, whether the object has the number of their wait or a place in its list.
func TestWait_InfeasibleObjectMayComeAfterAll_IsCountedAgain(t *testing.T) {
	c := startDaemon(t).driver()
	list, objs := pendingObjects(c, 2)
	ended := make(chan int, 2)
	for n := range 2 {
		go func() {
			got, _, _ := c.Select(list, 1, testLimit, false, make([]uint32, 2))
			ended <- got
		}()
		awaitOpenWaits(t, c, n+1)
	}
	infeasible := func(o *refs.Object) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.table.Infeasible(o, fault.New(fault.TaskUnschedulable, "no node has it"))
	}
	infeasible(objs[0])
	c.mu.Lock()
	c.table.Feasible(objs[0])
	c.table.Feasible(objs[1]) // which is not infeasible: it is not counted twice
	c.mu.Unlock()
	if objs[0].State() != refs.Pending || objs[0].Fault() != nil {
		t.Fatalf("the object that may come: %+v", objs[0])
	}
	infeasible(objs[1])
	c.mu.Lock()
	for _, w := range openWaits(c) {
		if w.Over() {
			t.Error("a wait is over although the first object may come")
		}
	}
	c.mu.Unlock()
	completeAll(c, objs[0])
	for range 2 {
		if got := <-ended; got != 1 {
			t.Errorf("a wait ended with %d objects, want 1", got)
		}
	}
}

// A task that takes a infeasible result is infeasible, also one that is submitted
// later; each runs when the first one can run after all.
func TestInfeasible_GoesOnToTasksThatTakeIt_TheyRunWhenItComes(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	tm := template(t, c, "f")
	first := submitText(t, c, tm, "first")
	late := submitText(t, c, tm, "late ")
	takes := submitText(t, c, tm, "", first)
	c.trouble(onlyClass(t, c).ID, fault.New(fault.TaskUnschedulable, "no node has it"))
	takesLater := submitText(t, c, tm, "", takes, late)
	all := []ids.Object{first, late, takes, takesLater}
	for i, ref := range all {
		expectOutcome(t, c, fmt.Sprint("task ", i), ref, "", fault.TaskUnschedulable)
	}
	if infeasible, done, err := c.Wait(all, 1, -1, WaitSome, func(int, bool) {}); infeasible != len(all) || !done || err != nil {
		t.Errorf("%d are infeasible, ended %v, %v", infeasible, done, err)
	}
	d.worker(echo)
	for i, ref := range all {
		waitFor(t, fmt.Sprintf("task %d runs after all", i), func() bool {
			f, err := c.Get(ref, testLimit)
			return err == nil && f != nil && !f.IsError
		})
	}
	expectOutcome(t, c, "the task that takes the other's result", takesLater, "first", "")
	letGo(t, c, all...)
}

// A get that gives up leaves the others that wait for the object alone, and leaves nothing behind.
func TestGet_GivesUp_OthersGoOnWaiting(t *testing.T) {
	c := startDaemon(t).driver()
	list, objs := inStates(c, "p")
	waiting := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(objs[0].Waits())
	}
	ended := make(chan bool, 2)
	for n := range 2 {
		go func() {
			f, err := c.Get(list[0], testLimit)
			ended <- err == nil && f != nil
		}()
		waitFor(t, "it waits", func() bool { return waiting() == n+1 })
	}
	ctx, cancel := context.WithCancel(context.Background())
	gaveUp := make(chan error)
	go func() {
		_, err := c.GetContext(ctx, list[0])
		gaveUp <- err
	}()
	waitFor(t, "the third waits", func() bool { return waiting() == 3 })
	cancel()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Errorf("the context's end: %v", err)
	}
	if f, err := c.Get(list[0], time.Millisecond); f != nil || err != nil {
		t.Errorf("a timeout: %v, %v", f, err)
	}
	if n := waiting(); n != 2 {
		t.Errorf("%d are waiting, want 2", n)
	}
	c.mu.Lock()
	c.table.Complete(objs[0], refs.Inline, text("x").Envelope(100), 1, false)
	c.mu.Unlock()
	for range 2 {
		if !<-ended {
			t.Error("one that goes on waiting does not get it")
		}
	}
}

// storedFar is a task's result that lies in the store and that nobody here looks at.
func storedFar(t *testing.T, d *fakeDaemon, c *Client) ids.Object {
	t.Helper()
	d.makes(new(made))
	return results(t, c, tasks(t, c, "f", 1, 0), 1, "x")[0]
}

// The store may take its time to say where a value is: a timeout, a context and an event loop do not wait for it.
func TestGet_StoreAnswersLate_TimeoutContextAndEventLoop(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	id := storedFar(t, d, c)
	d.mu.Lock()
	d.holdPins = 1 << 30
	d.mu.Unlock()
	if f, err := c.Get(id, 5*time.Millisecond); f != nil || err != nil {
		t.Fatalf("a timeout: %v, %v", f, err)
	}
	if f, err := c.TryGet(id); f.Envelope != nil || err != nil {
		t.Fatalf("what is not here is at hand: %v, %v", f, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	if _, err := c.GetContext(ctx, id); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a context: %v", err)
	}
	if ready, err := c.AsyncWatch(id, 7); ready || err != nil {
		t.Fatalf("an event loop: %v, %v", ready, err)
	}
	if got := c.AsyncDrain(); len(got) != 0 {
		t.Fatalf("the event loop is told %v", got)
	}
	d.mu.Lock()
	d.holdPins = 0
	for _, l := range d.late {
		_ = l.m.Reply(l.at)
	}
	d.late = nil
	d.mu.Unlock()
	p := []unix.PollFd{{Fd: int32(c.AsyncFD()), Events: unix.POLLIN}}
	var n int
	var err error
	for n, err = unix.Poll(p, int(testLimit.Milliseconds())); errors.Is(err, unix.EINTR); n, err = unix.Poll(p, int(testLimit.Milliseconds())) {
	}
	if got := c.AsyncDrain(); n != 1 || err != nil || !slices.Equal(got, []uint64{7}) {
		t.Fatalf("the event loop is told %v, %v", got, err)
	}
	if got := c.AsyncDrain(); len(got) != 0 {
		t.Errorf("it is told once more: %v", got)
	}
	if n, err := unix.Poll(p, 0); n != 0 && err == nil {
		t.Error("the event loop is woken although there is nothing")
	}
	f, err := c.TryGet(id)
	if err != nil || f.View == 0 {
		t.Fatalf("what has come is not at hand: %v, %v", f, err)
	}
	c.Release(Drop{View: f.View})
	c.Release(Drop{Object: id})
	d.eventually("it is freed, and nothing is pinned", func() bool { return d.freed[string(id[:])] && d.pins == 0 })
}

// A context that lasts changes nothing of a get.
func TestGetContext_ValueInTheStore_IsMapped(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	id := storedFar(t, d, c)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	f, err := c.GetContext(ctx, id)
	if err != nil || f == nil || f.View == 0 || meta(t, f) != "f0.1,x" {
		t.Fatalf("%v, %v", f, err)
	}
	c.Release(Drop{View: f.View})
	d.loses(id)
	c.Release(Drop{Object: id})
	d.eventually("nothing is pinned", func() bool { return d.pins == 0 })
	lost := results(t, c, tasks(t, c, "g", 1, 0), 1, "x")[0]
	d.loses(lost)
	_, err = c.GetContext(ctx, lost)
	expectLost(t, c, lost, err)
}

// expectLost checks that a get came to nothing because the store has lost the value.
func expectLost(t *testing.T, c *Client, id ids.Object, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("got the error %v, want a fault in the object's place", err)
	}
	expectOutcome(t, c, "what is lost for good", id, "", fault.LostNoRetries)
}

// A task that waits for longer than a moment gives its CPUs back while it waits, once for each wait.
func TestBlocked_TaskWaits_ItsCPUsAreLent(t *testing.T) {
	d := startDaemon(t)
	var said []wire.Type
	d.first = func(m *wire.Message) bool {
		if m.Type == wire.TBlocked || m.Type == wire.TUnblocked {
			said = append(said, m.Type)
		}
		return false
	}
	goOn := make(chan struct{})
	d.worker(func(w *Client, it *Item) {
		list, objs := inStates(w, "pr")
		if f, err := w.Get(list[1], -1); f == nil || err != nil {
			panic("what is there does not come")
		}
		if f, err := w.Get(list[0], time.Microsecond); f != nil || err != nil {
			panic("what is not there comes")
		}
		go func() {
			<-goOn
			completeAll(w, objs[0])
		}()
		if _, _, err := w.Wait(list[:1], 1, -1, WaitSome, func(int, bool) {}); err != nil {
			panic(err)
		}
		echo(w, it)
	})
	c := d.driver()
	ref := submitText(t, c, template(t, c, "f"), "x")
	d.eventually("the task that waits is known to wait", func() bool { return d.blocked == 1 })
	close(goOn)
	expectOutcome(t, c, "the task", ref, "x", "")
	d.eventually("it is known to go on", func() bool { return d.blocked == 0 && len(said) >= 2 })
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Equal(said, []wire.Type{wire.TBlocked, wire.TUnblocked}) {
		t.Errorf("the daemon was told %v", said)
	}
}

// What a result that only lineage kept was, is computed again for who gets a reference to it anew.
func TestFind_ValueThatOnlyLineageKept_IsComputedAgain(t *testing.T) {
	d := startDaemon(t)
	var m made
	worker := d.makes(&m)
	c := d.driver()
	a := results(t, c, tasks(t, c, "f", 1, 3), 1, "x")[0]
	b := results(t, c, tasks(t, c, "g", 1, 3), 1, "y", a)[0]
	worker.unpinUnused()
	c.Release(Drop{Object: a})
	d.eventually("its copy is freed", func() bool { return d.freed[string(a[:])] })
	d.loses(a)
	c.mu.Lock()
	o := c.table.Find(a)
	if o == nil || o.State() != refs.Evicted {
		t.Fatalf("what lineage keeps: %+v", o)
	}
	c.table.Ref(o) // as a reference inside another value does
	c.mu.Unlock()
	if ready, err := c.Ready(a); ready || err != nil {
		t.Fatalf("it is there at once: %v, %v", ready, err)
	}
	if got := get(t, c, a); got != "f0.2,x" {
		t.Errorf("got %q", got)
	}
	if ran := m.ran(); ran != "f g f" {
		t.Errorf("ran %q", ran)
	}
	letGo(t, c, a, b)
}
