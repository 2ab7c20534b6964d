package client

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/cancellation"
	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// asks sends a cancellation to a process, as another process does, and says what is answered.
func asks(t *testing.T, from, to *Client, q wire.Cancel) error {
	t.Helper()
	answer := make(chan error, 1)
	from.mu.Lock()
	from.links.To(to.info.Addr).Do(func(p *wire.Peer, err error) {
		if err != nil {
			answer <- err
			return
		}
		p.Go(wire.TCancel, q, func(_ *wire.Message, err error) { answer <- err })
	})
	from.mu.Unlock()
	select {
	case err := <-answer:
		return err
	case <-time.After(testLimit):
		t.Fatal("a cancellation is not answered")
		return nil
	}
}

// busyWorker is a worker whose task runs until the gate opens, and the task's result.
func busyWorker(t *testing.T, d *fakeDaemon, c *Client) (w *Client, ref ids.Object, id ids.Task, goOn func()) {
	t.Helper()
	gate, begun := make(chan struct{}), make(chan ids.Task)
	w = d.worker(func(w *Client, it *Item) {
		begun <- it.TaskID
		<-gate
		echo(w, it)
	})
	ref = submitText(t, c, template(t, c, "f"), "x")
	return w, ref, <-begun, func() { close(gate) }
}

// What cannot be cancelled is refused or left alone, and the session goes on.
func TestCancel_NothingToCancel_IsRefusedOrLeftAlone(t *testing.T) {
	d := startDaemon(t)
	d.act(0, echoes)
	d.states(wire.ActorState{State: wire.ActorUnschedulable, Message: "no node has it"})
	c := d.driver()
	unknown := ids.NewObject(1<<40, c.self, c.info.Job, 1)
	if err := c.Cancel(unknown, false, false); fault.CodeOf(err) != fault.ObjectLost {
		t.Errorf("an object that is not known: %v", err)
	}
	put := putBytes(t, c, 10, 1)
	if err := c.Cancel(put, true, true); err != nil {
		t.Errorf("a value that is there: %v", err)
	}
	late, objs := pendingObjects(c, 1)
	if err := c.Cancel(*late[0], true, true); err != nil {
		t.Errorf("an object that no task makes: %v", err)
	}
	id := newActor(t, c, ActorSpec{})
	call := callActor(t, c, id, method(t, c, 0), "x")
	if err := c.Cancel(call, true, true); fault.CodeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), "force=True") {
		t.Errorf("a call of an actor, with force: %v", err)
	}
	if err := c.Cancel(call, false, true); err != nil {
		t.Errorf("a call of an actor: %v", err)
	}
	expectOutcome(t, c, "the call", call, "", fault.TaskCancelled)
	completeAll(c, objs[0])
	get(t, c, put)

	d.worker(echo)
	ref := submitText(t, c, template(t, c, "f"), "x")
	c.mu.Lock()
	x := submit.TaskOf(c.table.Find(ref).Source())
	c.mu.Unlock()
	expectOutcome(t, c, "the task", ref, "x", "")
	c.mu.Lock()
	if k := c.submit.CancelTask(x, true, true, true); k != nil {
		t.Error("a task that was answered just before is cancelled")
	}
	c.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if x.Canceled {
		t.Error("a task that was answered counts as cancelled")
	}
}

// In a burst Cancel does not wait for the worker, which hears of it all the same.
func TestCancel_InABurst_IsSentAndNotWaitedFor(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	w, ref, id, goOn := busyWorker(t, d, c)
	w.mu.Lock() // the worker hears nothing before the cancellation has returned
	c.mu.Lock()
	c.submit.Cancels = cancellation.Burst{Last: time.Now().Add(time.Hour), N: cancellation.BurstAfter}
	c.mu.Unlock()
	done := make(chan error, 1)
	go func() { done <- c.Cancel(ref, false, false) }()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(testLimit):
		t.Error("the cancellation waits for its worker")
	}
	w.mu.Unlock()
	waitFor(t, "the worker has heard", func() bool { return w.Cancelled(id) })
	goOn()
	expectOutcome(t, c, "the task, which did not stop", ref, "x", "")
}

// A worker that could not be reached for a moment hears of a cancellation as long as its task runs there.
func TestCancel_WorkerCannotBeReachedForAMoment_ItHearsLater(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	w, ref, id, goOn := busyWorker(t, d, c)
	path := wire.SocketPath(d.dir, w.self)
	away := path + "x"
	if err := os.Rename(path, away); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	refused := make(chan struct{}, 100)
	go func() {
		for {
			u, err := l.Accept()
			if err != nil {
				return
			}
			u.Close()
			refused <- struct{}{}
		}
	}()
	c.mu.Lock()
	c.submit.Cancels = cancellation.Burst{Last: time.Now().Add(time.Hour), N: cancellation.BurstAfter}
	c.mu.Unlock()
	if err := c.Cancel(ref, false, false); err != nil {
		t.Fatal(err)
	}
	<-refused
	if w.Cancelled(id) {
		t.Error("the worker has heard through a socket that is not its own")
	}
	if err := os.Rename(away, path); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the worker has heard", func() bool { return w.Cancelled(id) })
	goOn()
	expectOutcome(t, c, "the task, which did not stop", ref, "x", "")
}

// Another process may cancel what this one has submitted: the owner answers when it
// has done so, or says why not.
func TestCanceling_AskedByAnotherProcess_DoesItAndAnswers(t *testing.T) {
	d := startDaemon(t)
	d.act(0, echoes)
	d.states(wire.ActorState{State: wire.ActorUnschedulable, Message: "no node has it"})
	c, other := d.driver(), d.driver()
	if err := asks(t, other, c, wire.Cancel{ObjectID: []byte("short")}); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("an id that is none: %v", err)
	}
	if err := asks(t, other, c, wire.Cancel{ObjectID: ids.NewObject(1<<40, c.self, c.info.Job, 1).Raw()}); err != nil {
		t.Errorf("an object that is gone: %v", err)
	}
	if err := asks(t, other, c, wire.Cancel{TaskID: make([]byte, ids.TaskSize)}); err != nil {
		t.Errorf("a task that a driver is said to run: %v", err)
	}
	ref := submitText(t, c, template(t, c, "f"), "x")
	if err := asks(t, other, c, wire.Cancel{ObjectID: ref.Raw()}); err != nil {
		t.Errorf("a task: %v", err)
	}
	if ready, err := c.Ready(ref); !ready || err != nil {
		t.Errorf("the answer came before the task was cancelled: %v, %v", ready, err)
	}
	expectOutcome(t, c, "the task", ref, "", fault.TaskCancelled)

	call := callActor(t, c, newActor(t, c, ActorSpec{}), method(t, c, 0), "x")
	addr, err := c.Export(call)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Import(call, addr, 0); err != nil {
		t.Fatal(err)
	}
	if err := other.Cancel(call, true, false); fault.CodeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), "force=True") {
		t.Errorf("a call of an actor, with force, through a borrower: %v", err)
	}
	if ready, err := c.Ready(call); ready || err != nil {
		t.Errorf("what was refused is cancelled all the same: %v, %v", ready, err)
	}
	if err := other.Cancel(call, false, false); err != nil {
		t.Errorf("a call of an actor, through a borrower: %v", err)
	}
	expectOutcome(t, c, "the call, for its owner", call, "", fault.TaskCancelled)
	waitFor(t, "the borrower hears of it", func() bool { // it had been told that nothing can run the call
		_, code := outcome(t, other, call)
		return code == fault.TaskCancelled
	})
}

// A cancelled task that waits in a worker behind one which ends the worker does not run elsewhere.
func TestExitIf_CancelledTaskIsBehind_DoesNotRunElsewhere(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	w := d.programless()
	tm := template(t, c, "f")
	first, behind, last := submitText(t, c, tm, "first"), submitText(t, c, tm, "behind"), submitText(t, c, tm, "last")
	it := takes(t, w)
	for it.Kind == ItemAssign {
		it = takes(t, w)
	}
	c.mu.Lock()
	k := onlyLocked(c)
	l := k.Leases[0]
	for k.Queue.Len() > 0 { // all are sent to the worker that ends
		c.submit.SendTask(l, k.Queue.Pop())
	}
	l.Channel.Flush()
	x := submit.TaskOf(c.table.Find(behind).Source())
	x.Canceled = true // the worker does not hear of it before it ends
	c.mu.Unlock()
	ran := d.echoesInOrder()
	if err := w.Reply(it.Token, []Value{{Fmt: FmtPickle, Meta: []byte("first")}}, wire.ReplyExiting); err != nil {
		t.Fatal(err)
	}
	expectOutcome(t, c, "the first task", first, "first", "")
	expectOutcome(t, c, "the cancelled task", behind, "", fault.TaskCancelled)
	expectOutcome(t, c, "the last task", last, "last", "")
	if got := fmt.Sprint(ran()); got != "[last]" {
		t.Errorf("the other worker ran %s", got)
	}
}
