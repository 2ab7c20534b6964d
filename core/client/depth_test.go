package client

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
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
		results[i] = submit(t, c, tm, "x")
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
	d := startDaemon(t)
	gate := make(chan struct{})
	var runs atomic.Bool
	w := d.worker(slowly(gate, &runs))
	c := d.driver()
	tm := template(t, c, "f")
	get(t, c, submit(t, c, tm, "x"))
	c.mu.Lock()
	for _, k := range c.classes {
		k.changed = time.Now().Add(-2 * deepAfter) // its lease is kept, and no other has come since
	}
	c.mu.Unlock()
	long := submit(t, c, tm, "L")
	next := submit(t, c, tm, "x")
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
	d := startDaemon(t)
	gate := make(chan struct{})
	var runs atomic.Bool
	first := d.worker(slowly(gate, &runs))
	c := d.driver()
	tm := template(t, c, "f")
	var results []ids.Object
	for range 40 {
		results = append(results, submit(t, c, tm, "x"))
	}
	long := submit(t, c, tm, "L")
	for range 40 {
		results = append(results, submit(t, c, tm, "x"))
	}
	d.eventually("the long one runs", runs.Load) // on a slow machine not as the 41st: others may have gone back and come again
	d.eventually("nothing waits behind it", func() bool { return waitingAt(first) == 0 })
	d.worker(slowly(gate, &runs))
	for _, id := range results {
		if s := get(t, c, id); s != "x" {
			t.Fatalf("got %q, want x", s)
		}
	}
	close(gate)
	get(t, c, long)
}

// A class asks for as many leases as its fastest choice needs, and for one per task while it waits for its first choice alone.
func TestShare_TheChoiceThatTakesLeastAtATime(t *testing.T) {
	for _, x := range []struct {
		after int64
		deeps []int
		want  int
	}{{0, nil, 1}, {0, []int{0}, 1}, {0, []int{7}, 7}, {0, []int{0, 7, 5, 9}, 5}, {0, []int{1, 7}, 1}, {1, []int{7}, 1}} {
		k := &class{after: x.after}
		for _, n := range x.deeps {
			k.paces = append(k.paces, pace{depth: n})
		}
		if got := k.share(); got != x.want {
			t.Errorf("after %d ms, %v at a time: %d, want %d", x.after, x.deeps, got, x.want)
		}
	}
}

// Who may have one more task of a long queue: a lease that takes tasks, with the least to do, when the queue has
// enough for all and no lease has come lately.
func TestAhead_WhichLease(t *testing.T) {
	fill := func(k *class, n int) {
		for range n {
			k.queue.push(&task{})
		}
	}
	for _, x := range []struct {
		what   string
		queue  int
		change func(k *class)
		want   int // of its leases; -1: none
	}{
		{"the queue has enough for all", 6, nil, 1},
		{"the queue has not enough for all", 5, nil, -1},
		{"a lease came just now", 6, func(k *class) { k.changed = time.Now() }, -1},
		{"the first choice is waited for alone", 6, func(k *class) { k.after = 1 }, -1},
		{"the one with less to do takes nothing", 6, func(k *class) { k.leases[1].paused = true }, 0},
		{"a better one may come in its place", 6, func(k *class) { k.leases[1].better = true }, 0},
		{"the one with less to do has enough", 6, func(k *class) { k.leases[1].busy = 3 }, 0},
		{"both have enough", 6, func(k *class) { k.leases[0].busy, k.leases[1].busy = 3, 3 }, -1},
		{"tasks are long", 9, func(k *class) { k.paces[0].deep = 0 }, 1},
	} {
		k := &class{paces: []pace{{depth: 1, deep: 3}}, changed: time.Now().Add(-time.Hour)}
		for busy := range 2 {
			k.leases = append(k.leases, &lease{class: k, conn: &outConn{}, busy: 2 - 2*busy})
		}
		fill(k, x.queue)
		if x.change != nil {
			x.change(k)
		}
		got := -1
		if l := k.deeper(); l != nil {
			got = map[*lease]int{k.leases[0]: 0, k.leases[1]: 1}[l]
		}
		if got != x.want {
			t.Errorf("%s: lease %d, want %d", x.what, got, x.want)
		}
	}
	few := &class{paces: []pace{{deep: 1}}, changed: time.Now().Add(-time.Hour)}
	if few.deeper() != nil {
		t.Error("without leases there is one")
	}
	few.leases = []*lease{{class: few, conn: &outConn{}}}
	if fill(few, 1); few.deeper() != nil {
		t.Error("the queue has less than two tasks for each lease")
	}
	if fill(few, 1); few.deeper() == nil {
		t.Error("the queue has two tasks for its one lease")
	}
}

// How many tasks a lease has follows how long they run, within bounds.
func TestPace_DepthFollowsTheMeasuredTime(t *testing.T) {
	for _, x := range []struct {
		us          float64
		depth, deep int
	}{{1, 512, 512}, {10, 200, 401}, {1999, 1, 4}, {2000, 1, 3}, {4000, 1, 2}, {19999, 1, 2}, {20000, 1, 0}, {1e9, 1, 0}} {
		var p pace
		if p.measure(x.us); p.us != x.us || p.depth != x.depth || p.deep != x.deep {
			t.Errorf("%g µs: %+v, want %d and %d", x.us, p, x.depth, x.deep)
		}
	}
	p := pace{}
	p.set(100)
	if p.measure(100_000); p.us != 100+300/8.0 {
		t.Errorf("one long call among short ones: %g µs", p.us)
	}
	if p.tooDeep(); p.depth != 1 || p.us != pipelineFor {
		t.Errorf("after tasks came back: %+v", p)
	}
	p.set(50_000)
	if p.tooDeep(); p.us != 50_000 {
		t.Errorf("tasks that come back one at a time: %+v", p)
	}
	if smoothed(0.0, 5.0) != 5 || smoothed(8.0, 16.0) != 9 || typical(0.0, 5.0) != 5 || typical(8.0, 1000.0) != 11 {
		t.Error("the mean is wrong")
	}
}
