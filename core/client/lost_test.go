package client

import (
	"slices"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/transport"
)

// atWorker is a task that a worker has, with large arguments and two references, all of which lie in the
// store; mu is held afterwards. The store is not asked about them: the test says what it has.
func atWorker(t *testing.T, c *Client) (k *task, conn *outConn, o *refs.Object) {
	t.Helper()
	k, o = taken(t, c, retried(t, c, "f", 0))
	conn = withPipe(newOutConn(&c.submitter, "worker"), transport.Conn{})
	conn.lease = &lease{class: k.tmpl.class, conn: conn, busy: 1, paused: true}
	k.seq, k.on = 5, conn
	conn.sent.add(k)
	c.inflight++
	stored := func() *refs.Object {
		x := c.table.New(1, 1)
		c.table.PutStored(x, 9, false)
		c.table.Pin(x)
		return x
	}
	k.argsRef, k.deps = stored(), []*refs.Object{stored(), stored()}
	return k, conn, o
}

// A task that a worker gives back waits for just those of its arguments that are lost.
func TestLostArguments_TaskWaitsForWhatIsLost(t *testing.T) {
	for _, x := range []struct {
		what    string
		lost    []int
		pending []bool // its arguments and its two references
	}{
		{"its arguments", []int{0}, []bool{true, false, false}},
		{"its first reference", []int{1}, []bool{false, true, false}},
		{"its last reference", []int{2}, []bool{false, false, true}},
		{"all", []int{0, 1, 2}, []bool{true, true, true}},
		{"what it does not take", []int{3, 99}, []bool{false, false, false}},
	} {
		c := startDaemon(t).driver()
		k, conn, o := atWorker(t, c)
		if _, err := conn.Frames(frame.AppendLost(nil, k.seq, x.lost)); err != nil {
			t.Fatal(err)
		}
		want := 0
		for i, y := range append([]*refs.Object{k.argsRef}, k.deps...) {
			if got := y.State() == refs.Pending; got != x.pending[i] {
				t.Errorf("%s: argument %d is lost: %v", x.what, i, got)
			}
			if x.pending[i] {
				want++
				if !slices.Contains(y.Tasks(), refs.Task(k)) {
					t.Errorf("%s: the task does not hear of argument %d", x.what, i)
				}
			}
		}
		if int(k.waiting) != want || k.misses != 1 || o.State() != refs.Pending || k.on != nil || conn.sent.len() != 0 || c.inflight != 0 || conn.lease.busy != 0 || conn.lease.paused {
			t.Errorf("%s: it waits for %d; %+v; %d are sent", x.what, k.waiting, conn.lease, c.inflight)
		}
		if queued := k.tmpl.class.queue.len() == 1; queued != (want == 0) {
			t.Errorf("%s: it is queued: %v", x.what, queued)
		}
		c.table = c.newTable() // no answer of the store counts
		c.mu.Unlock()
	}
}

// A task whose arguments are lost again and again fails, and one that is cancelled meanwhile is cancelled.
func TestLostArguments_TooOftenOrCancelled_IsOver(t *testing.T) {
	for _, x := range []struct {
		misses   uint8
		canceled bool
		code     fault.Code
		words    string
	}{
		{maxMisses - 1, false, "", ""},
		{maxMisses, false, fault.ObjectLost, "an argument of f was lost again and again"},
		{0, true, fault.TaskCancelled, ""},
	} {
		c := startDaemon(t).driver()
		k, conn, o := atWorker(t, c)
		k.misses, k.canceled = x.misses, x.canceled
		if _, err := conn.Frames(frame.AppendLost(nil, k.seq, []int{1})); err != nil {
			t.Fatal(err)
		}
		got := fault.Code("")
		if o.State() == refs.Failed {
			got = o.Fault().Code
		}
		if got != x.code || x.code != "" && !strings.Contains(o.Fault().Message, x.words) {
			t.Errorf("after %d losses, cancelled %v: %v", x.misses, x.canceled, o.Fault())
		}
		c.table = c.newTable() // no answer of the store counts
		c.mu.Unlock()
	}
}

// A worker may speak of a task that was answered for it meanwhile.
func TestLostArguments_OfNoTask_ChangesNothing(t *testing.T) {
	c := startDaemon(t).driver()
	k, conn, _ := atWorker(t, c)
	defer c.mu.Unlock()
	if _, err := conn.Frames(frame.AppendLost(nil, k.seq+1, []int{1})); err != nil || conn.sent.len() != 1 || c.inflight != 1 || k.waiting != 0 {
		t.Errorf("%v: %d tasks are left, %d are sent", err, conn.sent.len(), c.inflight)
	}
	c.inflight = 0
}

// What was fetched for a call that cannot begin is let go of.
func TestArguments_OneIsLost_TheOthersAreLetGoOf(t *testing.T) {
	d := startDaemon(t)
	var m made
	worker := d.makes(&m)
	c := d.driver()
	f := tasks(t, c, "f", 1, 3)
	here, gone := results(t, c, f, 1, "a")[0], results(t, c, f, 1, "b")[0]
	d.loses(gone)
	out := submit(t, c, tasks(t, c, "g", 1, 0), "y", here, gone)
	if got := get(t, c, out); got != "g0.1,y,f0.1,a,f0.3,b" {
		t.Errorf("got %q", got)
	}
	letGo(t, c, here, gone, out)
	waitFor(t, "the worker looks at nothing", func() bool {
		worker.mu.Lock()
		defer worker.mu.Unlock()
		return worker.local.Count().InUse == 0
	})
}
