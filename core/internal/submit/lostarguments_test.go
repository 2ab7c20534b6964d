package submit

import (
	"slices"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/arguments"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/retry"
)

// atWorker is a task that a worker has, with large arguments and two references, all of which lie in the
// store; mu is held afterwards. The store is not asked about them: the test says what it has.
func atWorker(t *testing.T, c *quiet) (k *Task, conn *Channel, o *refs.Object) {
	t.Helper()
	k, o = taken(t, c, retried(t, c, "f", 0))
	conn = withPipe(NewChannel(&c.Submitter, "worker"), new(silentPipe))
	conn.Lease = &Lease{Class: k.Template.Class, Channel: conn, Busy: 1, Paused: true}
	k.Seq, k.on = 5, conn
	conn.sent.Add(k.Seq, k)
	c.Sent++
	stored := func() *refs.Object {
		x := c.table.New(1, 1)
		c.table.PutStored(x, 9, false)
		c.table.Pin(x)
		return x
	}
	k.Arguments = arguments.Of(nil, stored(), []*refs.Object{stored(), stored()}, nil)
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
		c := newQuiet(t)
		k, conn, o := atWorker(t, c)
		if _, err := conn.Frames(frame.AppendLost(nil, k.Seq, x.lost)); err != nil {
			t.Fatal(err)
		}
		want := 0
		for i, y := range append([]*refs.Object{k.At(0)}, k.Dependencies()...) {
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
		if int(k.Waiting) != want || k.Misses != 1 || o.State() != refs.Pending || k.on != nil || conn.sent.Len() != 0 || c.Sent != 0 || conn.Lease.Busy != 0 || conn.Lease.Paused {
			t.Errorf("%s: it waits for %d; %+v; %d are sent", x.what, k.Waiting, conn.Lease, c.Sent)
		}
		if queued := k.Template.Class.Queue.Len() == 1; queued != (want == 0) {
			t.Errorf("%s: it is queued: %v", x.what, queued)
		}
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
		{retry.MaxMisses - 1, false, "", ""},
		{retry.MaxMisses, false, fault.ObjectLost, "an argument of f was lost again and again"},
		{0, true, fault.TaskCancelled, ""},
	} {
		c := newQuiet(t)
		k, conn, o := atWorker(t, c)
		k.Misses, k.Canceled = x.misses, x.canceled
		if _, err := conn.Frames(frame.AppendLost(nil, k.Seq, []int{1})); err != nil {
			t.Fatal(err)
		}
		got := fault.Code("")
		if o.State() == refs.Failed {
			got = o.Fault().Code
		}
		if got != x.code || x.code != "" && !strings.Contains(o.Fault().Message, x.words) {
			t.Errorf("after %d losses, cancelled %v: %v", x.misses, x.canceled, o.Fault())
		}
		c.mu.Unlock()
	}
}

// A worker may speak of a task that was answered for it meanwhile.
func TestLostArguments_OfNoTask_ChangesNothing(t *testing.T) {
	c := newQuiet(t)
	k, conn, _ := atWorker(t, c)
	defer c.mu.Unlock()
	if _, err := conn.Frames(frame.AppendLost(nil, k.Seq+1, []int{1})); err != nil || conn.sent.Len() != 1 || c.Sent != 1 || k.Waiting != 0 {
		t.Errorf("%v: %d tasks are left, %d are sent", err, conn.sent.Len(), c.Sent)
	}
	c.Sent = 0
}
