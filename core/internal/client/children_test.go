package client

import (
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// family is a worker process whose calls 7 and 8 have submitted tasks, two of
// each kind: the first one belongs to call 7, the second one to call 8.
type family struct {
	t    *testing.T
	d    *fakeDaemon
	c    *Client
	kept []ids.Object // the results that are still held, in the order of the kinds
	gone int          // tasks of each call whose results nobody holds
}

const (
	ourCall   = 7
	otherCall = 8
)

func startFamily(t *testing.T) *family {
	d := startDaemon(t)
	f := &family{t: t, d: d, c: d.member(t, wire.RoleWorker).c}
	t.Cleanup(func() { f.c.Close(0) })
	return f
}

// pair submits one task for each of the two calls and says which tasks they are.
func (f *family) pair(call func(parent uint64) (ids.Object, error), hold bool) (list [2]*submit.Task) {
	f.t.Helper()
	for i, parent := range []uint64{ourCall, otherCall} {
		ref, err := call(parent)
		if err != nil {
			f.t.Fatal(err)
		}
		f.c.mu.Lock()
		list[i] = submit.TaskOf(f.c.table.Find(ref).Source())
		f.c.mu.Unlock()
		if hold {
			f.kept = append(f.kept, ref)
			continue
		}
		f.c.Release(Drop{Object: ref})
		f.c.mu.Lock()
		f.c.TakeDrops()
		f.c.mu.Unlock()
		if i == 0 {
			f.gone++
		}
	}
	return list
}

// tasks submits calls of a function.
func (f *family) tasks(name string, hold bool, deps ...ids.Object) [2]*submit.Task {
	f.t.Helper()
	tm := template(f.t, f.c, name)
	return f.pair(func(parent uint64) (ids.Object, error) {
		ref, _, err := f.c.Submit(&Call{Template: tm, Args: Value{Fmt: FmtPickle, Meta: []byte(name)}, Deps: deps, Parent: parent})
		return ref, err
	}, hold)
}

// calls submits calls of an actor.
func (f *family) calls(id ids.Actor, hold bool) [2]*submit.Task {
	f.t.Helper()
	tm := method(f.t, f.c, 0)
	return f.pair(func(parent uint64) (ids.Object, error) {
		ref, _, err := f.c.CallActor(id, &Call{Template: tm, Args: Value{Fmt: FmtPickle, Meta: []byte("x")}, Parent: parent})
		return ref, err
	}, hold)
}

// open counts the tasks without an answer that a call has submitted and that were not cancelled.
func (f *family) open(call uint64) int {
	f.c.mu.Lock()
	defer f.c.mu.Unlock()
	return len(f.c.submit.ChildrenOf(call))
}

// cancel cancels what our call has submitted and waits until that was heard.
func (f *family) cancel() {
	f.t.Helper()
	f.c.mu.Lock()
	done := f.c.CancelChildren(ourCall, false)
	f.c.mu.Unlock()
	select {
	case <-done:
	case <-time.After(testLimit):
		f.t.Fatal("the cancellation of the children does not end")
	}
}

// The tasks that a cancelled call has submitted end wherever they are, also when nobody
// holds their results. Those of another call go on.
func TestCancelChildren_TasksInEveryPlace_OnlyTheCallsOwnEnd(t *testing.T) {
	f := startFamily(t)
	c := f.c
	late, _ := pendingObjects(c, 1)
	f.tasks("waits for an argument", true, *late[0])
	f.tasks("waits for an argument, result let go", false, *late[0])
	f.tasks("waits for a worker", true)
	f.tasks("waits for a worker, result let go", false)
	retries := f.tasks("waits for its retry", false)
	lost := f.tasks("was on a lost worker", false)
	c.mu.Lock()
	for i := range retries {
		retries[i].LeaveQueue()
		c.submit.Again(retries[i], time.Hour, "the test says so")
		lost[i].LeaveQueue()
	}
	c.submit.Leases[99] = &submit.Lease{ID: 99, Class: lost[0].Template.Class, Lost: lost[:]}
	c.mu.Unlock()
	f.d.states(wire.ActorState{State: wire.ActorUnschedulable, Message: "no node has it"})
	f.d.act(0, echoes)
	id := newActor(t, c, ActorSpec{})
	f.calls(id, false)
	sent := f.calls(id, false)
	c.mu.Lock()
	a := c.submit.Actors[id]
	for _, x := range sent {
		a.Queue.Remove(x)
	}
	a.Sent = sent[:]
	c.mu.Unlock()

	const kinds = 8
	if ours, others := f.open(ourCall), f.open(otherCall); ours != kinds || others != kinds {
		t.Fatalf("%d and %d tasks are found, want %d of each call", ours, others, kinds)
	}
	if n := f.open(0); n != 0 {
		t.Errorf("%d tasks are of no call", n)
	}
	f.cancel()
	if ours, others := f.open(ourCall), f.open(otherCall); ours != 0 || others != kinds {
		t.Errorf("afterwards %d and %d tasks are open, want 0 and %d", ours, others, kinds)
	}
	c.mu.Lock()
	if c.submit.Open != kinds {
		t.Errorf("%d tasks are unfinished, want %d", c.submit.Open, kinds)
	}
	c.mu.Unlock()
	for i, ref := range f.kept {
		if i%2 == 0 {
			expectOutcome(t, c, "a child", ref, "", fault.TaskCancelled)
		} else if ready, err := c.Ready(ref); ready || err != nil {
			t.Errorf("the task of another call has ended: %v, %v", ready, err)
		}
	}
}

// A child that runs elsewhere hears of it, be it a task or an actor's call, and
// the answer to the cancellation waits for that.
func TestCancelChildren_TheyRunElsewhere_TheirWorkersHaveHeard(t *testing.T) {
	f := startFamily(t)
	gate := make(chan struct{})
	begun := make(chan *Item, 4)
	workers := map[ids.Task]*Client{}
	run := func(w *Client, it *Item) {
		f.d.mu.Lock()
		workers[it.TaskID] = w
		f.d.mu.Unlock()
		begun <- it
		<-gate
		echo(w, it)
	}
	f.d.worker(run)
	f.d.worker(run)
	f.d.act(0, func(_ uint64, w *Client, it *Item) { run(w, it) })
	tasks := f.tasks("runs", false)
	<-begun
	<-begun
	id := newActor(t, f.c, ActorSpec{})
	calls := f.calls(id, false)
	<-begun // the second call is behind it in its process
	f.d.mu.Lock()
	heard := func(x *submit.Task) bool {
		w := workers[x.ID(&f.c.submit)]
		return w != nil && w.Cancelled(x.ID(&f.c.submit))
	}
	f.d.mu.Unlock()
	if n := f.open(ourCall); n != 2 {
		t.Fatalf("%d tasks are found, want 2", n)
	}
	f.cancel()
	f.d.mu.Lock()
	for i, want := range []bool{true, false} {
		if heard(tasks[i]) != want || heard(calls[i]) != want {
			t.Errorf("pair member %d: the task's worker has heard of it: %v, the actor: %v, want %v", i, heard(tasks[i]), heard(calls[i]), want)
		}
	}
	f.d.mu.Unlock()
	close(gate)
	waitFor(t, "all have ended", func() bool { return f.open(ourCall)+f.open(otherCall) == 0 })
}

// A child may end between the list of children being made and its own turn: it is left alone.
func TestCancelChildren_OneEndsMeanwhile_TheOthersAreCancelled(t *testing.T) {
	f := startFamily(t)
	f.tasks("ends meanwhile", true)
	f.tasks("is cancelled", true)
	c := f.c
	c.mu.Lock()
	done := c.CancelChildren(ourCall, false)
	first := submit.TaskOf(c.table.Find(f.kept[0]).Source())
	first.LeaveQueue()
	c.submit.FailTask(first, fault.New(fault.RuntimeEnvSetup, "the test says so"))
	c.mu.Unlock()
	select {
	case <-done:
	case <-time.After(testLimit):
		t.Fatal("the cancellation of the children does not end")
	}
	expectOutcome(t, c, "the one that ended", f.kept[0], "", fault.RuntimeEnvSetup)
	expectOutcome(t, c, "the other one", f.kept[2], "", fault.TaskCancelled)
	if n := f.open(otherCall); n != 2 {
		t.Errorf("%d tasks of the other call are open, want 2", n)
	}
	done = c.CancelChildren(ourCall, false)
	select {
	case <-done:
	case <-time.After(testLimit):
		t.Fatal("a call without children is never done with cancelling them")
	}
}
