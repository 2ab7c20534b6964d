package client

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// onlyLease is the one lease of a process, which is kept although it may rest for long.
func onlyLease(t *testing.T, c *Client) *submit.Lease {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.submit.Leases) != 1 {
		t.Fatalf("there are %d leases", len(c.submit.Leases))
	}
	for _, l := range c.submit.Leases {
		l.IdleAt = time.Now().Add(time.Hour)
		return l
	}
	return nil
}

// A worker that rests serves the next class of the same needs: no other lease is asked
// for, and a want that was granted is not withdrawn.
func TestPump_LeaseOfTheSameNeedsRests_ServesTheOtherClass(t *testing.T) {
	d := startDaemon(t)
	wants := d.leaseWants()
	d.worker(echo)
	c := d.driver()
	get(t, c, submitText(t, c, template(t, c, "f"), "x"))
	if got := toldWants(t, c, wants); !slices.Equal(got, []int{1}) {
		t.Errorf("for one task the daemon was told to want %v leases", got)
	}
	l := onlyLease(t, c)
	get(t, c, submitText(t, c, template(t, c, "g"), "y"))
	if again := onlyLease(t, c); again != l || again.Class.Name != "g" {
		t.Errorf("lease %d of %s serves the second function, want lease %d", again.ID, again.Class.Name, l.ID)
	}
	if got := toldWants(t, c, wants); !slices.Equal(got, []int{1}) {
		t.Errorf("for two tasks, one after the other, the daemon was told to want %v leases", got)
	}
}

// A lease that is given back leaves its worker without a connection to this process.
func TestReturnLease_WorkerHasNoCallerAnyMore(t *testing.T) {
	d := startDaemon(t)
	w := d.worker(echo)
	c := d.driver()
	get(t, c, submitText(t, c, template(t, c, "f"), "x"))
	isEmpty(t, w, "exec_callers")
	d.eventually("the lease is given back", func() bool { return len(d.returned) == 1 && len(d.idle) == 1 })
}

// The daemon hears at once of a lease whose worker is gone and had nothing to do.
func TestLeaseLost_WorkerRested_DaemonHears(t *testing.T) {
	d := startDaemon(t)
	w := d.worker(echo)
	c := d.driver()
	get(t, c, submitText(t, c, template(t, c, "f"), "x"))
	l := onlyLease(t, c)
	die(w)
	waitFor(t, "the lease is gone", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.poller.Glance()
		return l.Gone
	})
	d.eventually("the lease is given back, and nobody else gets its worker", func() bool { return slices.Equal(d.returned, []uint64{l.ID}) && len(d.idle) == 0 })
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.submit.Leases) != 0 || len(l.Class.Leases) != 0 {
		t.Errorf("%d leases are left, %d of the class", len(c.submit.Leases), len(l.Class.Leases))
	}
}

// What a task that ran comes to, when its worker is gone, waits for the daemon's word on how
// the worker ended. A task that may not run again does not; those behind it run elsewhere.
func TestLeaseLost_WorkerHadTasks_WaitsForTheDaemonsWord(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	w, ref, _, goOn := busyWorker(t, d, c)
	tm := retried(t, c, "f", 2)
	behind := submitText(t, c, tm, "behind")
	l := onlyLease(t, c)
	c.mu.Lock()
	for l.Class.Queue.Len() > 0 {
		c.submit.SendTask(l, l.Class.Queue.Pop())
	}
	l.Channel.Flush()
	c.mu.Unlock()
	die(w)
	waitFor(t, "the lease is lost", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.poller.Glance()
		return l.Gone
	})
	if ready, err := c.Ready(ref); ready || err != nil {
		t.Errorf("the task has ended before it is known how its worker did: %v, %v", ready, err)
	}
	c.brokenLease(&wire.LeaseBroken{LeaseID: l.ID + 1, Detail: "another one"})
	c.brokenLease(&wire.LeaseBroken{LeaseID: l.ID, Detail: "it was shot"})
	if code, words, _ := faultIn(t, c, ref); code != fault.WorkerCrashed || !strings.Contains(words, "it was shot") {
		t.Errorf("%s, %s", code, words)
	}
	ran := d.echoesInOrder()
	expectOutcome(t, c, "the task behind it", behind, "behind", "")
	if got := ran(); !slices.Equal(got, []string{"behind"}) {
		t.Errorf("the next worker ran %q", got)
	}
	c.mu.Lock()
	if len(c.submit.Leases) > 1 {
		t.Errorf("%d leases are left", len(c.submit.Leases))
	}
	c.mu.Unlock()
	goOn()
}
