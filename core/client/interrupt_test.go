package client

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/transport"
	"github.com/eagleray/eagleray/core/wire"
)

func TestCancel_ComesBeforeItsCall_AnsweredWhileAnotherRuns(t *testing.T) {
	d := startDaemon(t)
	begun, gate := make(chan struct{}, 1), make(chan struct{})
	a := d.act(0, func(_ uint64, c *Client, it *Item) {
		begun <- struct{}{}
		<-gate
		echo(c, it)
	})
	c := d.driver()
	id := newActor(t, c, ActorSpec{})
	tm := method(t, c, 0)
	runs := callActor(t, c, id, tm, "runs")
	<-begun
	c.mu.Lock()
	next := ids.NewObject(c.table.Peek(), c.self, c.info.Job, 1)
	c.mu.Unlock()
	a.worker.exec.cancel(&wire.Cancel{TaskID: next[:len(ids.Task{})]})

	late := callActor(t, c, id, tm, "late")
	if _, code := outcome(t, c, late); code != fault.TaskCancelled {
		t.Errorf("the cancelled call came to %q", code)
	}
	last := callActor(t, c, id, tm, "last")
	close(gate)
	for ref, want := range map[ids.Object]string{runs: "runs", last: "last"} {
		if text, code := outcome(t, c, ref); text != want {
			t.Errorf("%s: %q, %q", want, text, code)
		}
	}
	a.worker.mu.Lock()
	defer a.worker.mu.Unlock()
	if n := len(a.worker.exec.early); n != 0 {
		t.Errorf("%d cancellations are still kept", n)
	}
}

// A task asks whether it was cancelled by its own id. The program is told of
// each cancellation once, in their order.
func TestCancelled_OnlyTheTaskThatWas(t *testing.T) {
	interrupts := 0
	c := startDaemon(t).driver()
	c.opts.Interrupt = func() { interrupts++ }
	if c.Cancelled(ids.Task{1}) {
		t.Error("a process without calls has a cancelled one")
	}
	if _, ok := c.CurrentCancelled(); ok {
		t.Error("a process without calls has a cancelled one")
	}
	c.mu.Lock()
	e := newExecutor(c)
	c.exec = e
	for n := range byte(3) {
		e.calls[uint64(n)] = &call{task: ids.Task{n}, in: &inConn{}, tmpl: &RemoteTemplate{}}
	}
	stop := e.calls[2].stopped()
	c.mu.Unlock()
	defer func() { // the client's end must not end these calls
		c.mu.Lock()
		defer c.mu.Unlock()
		c.exec = nil
	}()
	for _, n := range []byte{2, 1, 2} {
		e.cancel(&wire.Cancel{TaskID: append([]byte{n}, make([]byte, ids.TaskSize-1)...)})
	}
	for n, want := range []bool{false, true, true, false} {
		if got := c.Cancelled(ids.Task{byte(n)}); got != want {
			t.Errorf("task %d is cancelled: %v", n, got)
		}
	}
	select {
	case <-stop:
	default:
		t.Error("who waits for room for its answer goes on waiting")
	}
	if interrupts != 3 || len(e.early) != 0 {
		t.Errorf("the program is interrupted %d times, %d cancellations are kept", interrupts, len(e.early))
	}
	for _, want := range []byte{2, 1, 2} {
		if id, ok := c.CurrentCancelled(); !ok || id != (ids.Task{want}) {
			t.Errorf("told of %v, %v, want %d", id, ok, want)
		}
	}
	if id, ok := c.CurrentCancelled(); ok {
		t.Errorf("told of %v as well", id)
	}
}

// Cancellations of tasks that never come are forgotten, when there are many and they are old.
func TestCancel_TasksThatNeverCome_AreForgotten(t *testing.T) {
	c := startDaemon(t).driver()
	e := newExecutor(c)
	task := func(n uint64) (id ids.Task) {
		binary.BigEndian.PutUint64(id[:], n)
		return id
	}
	long := time.Now().Add(-earlyFor - time.Second)
	for n := range uint64(maxEarly) {
		e.early[task(n)] = long
	}
	next := task(maxEarly)
	e.cancel(&wire.Cancel{TaskID: next[:]})
	if len(e.early) != maxEarly+1 {
		t.Fatalf("%d are kept, want %d", len(e.early), maxEarly+1)
	}
	e.early[task(7)] = time.Now()
	last := task(maxEarly + 1)
	e.cancel(&wire.Cancel{TaskID: last[:]})
	for _, id := range []ids.Task{next, task(7), last} {
		if e.early[id].IsZero() {
			t.Error("a new one is forgotten")
		}
	}
	if len(e.early) != 3 {
		t.Errorf("%d are kept, want 3", len(e.early))
	}
}

// A call that waits is found by its task once, unless it has begun, its caller
// has gone, or it is no call of a program.
func TestQueueIndex_Find_WaitingCallsOnce(t *testing.T) {
	in, gone := &inConn{}, &inConn{}
	gone.Conn = transport.Closed(new(transport.Poller))
	tmpl := &RemoteTemplate{}
	l := &lane{}
	push := func(k *call) { l.queue, l.pushed = append(l.queue, k), l.pushed+1 }
	waits := &call{task: ids.Task{1}, in: in, tmpl: tmpl}
	push(waits)
	push(&call{task: ids.Task{2}, in: in, tmpl: tmpl, taken: true})
	push(&call{task: ids.Task{3}, in: gone, tmpl: tmpl})
	push(&call{task: ids.Task{4}, in: in})
	push(&call{task: ids.Task{5}, in: in, tmpl: tmpl, actor: new(wire.ActorStart)})
	for n := range byte(7) {
		if got := l.index.find(l, ids.Task{n}); got != nil != (n == 1) || n == 1 && got != waits {
			t.Errorf("task %d: %+v", n, got)
		}
	}
	if l.index.find(l, ids.Task{1}) != nil {
		t.Error("it is found a second time")
	}
	l.queue = nil // all have begun
	late := &call{task: ids.Task{6}, in: in, tmpl: tmpl}
	push(late)
	if l.index.find(l, ids.Task{6}) != late {
		t.Error("a call that came later is not found")
	}
}
