package client

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/leases"
)

// usually is how long the tasks of these tests run: longer than what a lease has more than one of.
const usually = 3 * time.Millisecond

// slowly is echo after a while, or after the gate for what is to run long, of which it says that it runs.
func slowly(gate chan struct{}, runs *atomic.Bool) func(*Client, *Item) {
	return func(c *Client, it *Item) {
		if textOf(it) == "L" {
			runs.Store(true)
			<-gate
		} else {
			time.Sleep(usually)
		}
		echo(c, it)
	}
}

// startSlow is a driver, its template and one worker, whose tasks take a while. The long one runs until the gate is closed.
func startSlow(t *testing.T) (d *fakeDaemon, w, c *Client, tm int, gate chan struct{}, runs *atomic.Bool) {
	d, gate, runs = startDaemon(t), make(chan struct{}), new(atomic.Bool)
	w = d.worker(slowly(gate, runs))
	c = d.driver()
	return d, w, c, template(t, c, "f"), gate, runs
}

// waitingAt is how many tasks a worker has that it has not begun.
func waitingAt(w *Client) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.exec.Waiting()
}

func TestAhead_LongQueue_TheNextOneIsThere(t *testing.T) {
	d := startDaemon(t)
	var began, behind atomic.Int32
	d.worker(func(w *Client, it *Item) {
		began.Add(1)
		time.Sleep(usually)
		behind.Add(int32(waitingAt(w)))
		echo(w, it)
	})
	c := d.driver()
	tm := template(t, c, "f")
	results := make([]ids.Object, 60)
	for i := range results {
		results[i] = submitText(t, c, tm, "x")
	}
	for _, id := range results {
		if s := get(t, c, id); s != "x" {
			t.Fatalf("got %q, want x", s)
		}
	}
	if n := began.Load(); n != int32(len(results)) {
		t.Errorf("%d tasks began, want %d", n, len(results))
	}
	if behind.Load() == 0 {
		t.Error("no task ever waited at the worker when the one before it ended")
	}
}

// What is left of a queue goes to whoever is free first.
func TestAhead_ShortQueue_NothingWaitsBehindARunningTask(t *testing.T) {
	d, w, c, tm, gate, runs := startSlow(t)
	get(t, c, submitText(t, c, tm, "x"))
	c.mu.Lock()
	for _, k := range c.submit.Classes {
		k.Changed = time.Now().Add(-2 * leases.DeepAfter) // its lease is kept, and no other has come since
	}
	c.mu.Unlock()
	long := submitText(t, c, tm, "L")
	next := submitText(t, c, tm, "x")
	d.eventually("the long one runs", runs.Load)
	if n := waitingAt(w); n != 0 {
		t.Errorf("%d tasks wait behind it", n)
	}
	close(gate)
	for _, id := range []ids.Object{long, next} {
		get(t, c, id)
	}
}

// What waits behind a task that runs longer than its like goes back, and another worker takes it.
func TestAhead_OneRunsLong_ThoseBehindItGoOn(t *testing.T) {
	d, first, c, tm, gate, runs := startSlow(t)
	var results []ids.Object
	for range 40 {
		results = append(results, submitText(t, c, tm, "x"))
	}
	long := submitText(t, c, tm, "L")
	for range 40 {
		results = append(results, submitText(t, c, tm, "x"))
	}
	d.eventually("the long one runs", runs.Load) // on a slow machine not as the 41st: others may have gone back and come again
	d.eventually("nothing waits behind it", func() bool { return waitingAt(first) == 0 })
	d.worker(slowly(gate, runs))
	for _, id := range results {
		if s := get(t, c, id); s != "x" {
			t.Fatalf("got %q, want x", s)
		}
	}
	close(gate)
	get(t, c, long)
}
