package client

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/wire"
)

// onlyLease is the one lease of a process, which is kept although it may rest for long.
func onlyLease(t *testing.T, c *Client) *lease {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.leases) != 1 {
		t.Fatalf("there are %d leases", len(c.leases))
	}
	for _, l := range c.leases {
		l.idleAt = time.Now().Add(time.Hour)
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
	get(t, c, submit(t, c, template(t, c, "f"), "x"))
	if got := toldWants(t, c, wants); !slices.Equal(got, []int{1}) {
		t.Errorf("for one task the daemon was told to want %v leases", got)
	}
	l := onlyLease(t, c)
	get(t, c, submit(t, c, template(t, c, "g"), "y"))
	if again := onlyLease(t, c); again != l || again.class.name != "g" {
		t.Errorf("lease %d of %s serves the second function, want lease %d", again.id, again.class.name, l.id)
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
	get(t, c, submit(t, c, template(t, c, "f"), "x"))
	isEmpty(t, w, "exec_callers")
	d.eventually("the lease is given back", func() bool { return len(d.returned) == 1 && len(d.idle) == 1 })
}

// The daemon hears at once of a lease whose worker is gone and had nothing to do.
func TestLeaseLost_WorkerRested_DaemonHears(t *testing.T) {
	d := startDaemon(t)
	w := d.worker(echo)
	c := d.driver()
	get(t, c, submit(t, c, template(t, c, "f"), "x"))
	l := onlyLease(t, c)
	die(w)
	waitFor(t, "the lease is gone", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.poller.Glance()
		return l.gone
	})
	d.eventually("the lease is given back, and nobody else gets its worker", func() bool { return slices.Equal(d.returned, []uint64{l.id}) && len(d.idle) == 0 })
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.leases) != 0 || len(l.class.leases) != 0 {
		t.Errorf("%d leases are left, %d of the class", len(c.leases), len(l.class.leases))
	}
}

// What a task that ran comes to, when its worker is gone, waits for the daemon's word on how
// the worker ended. A task that may not run again does not; those behind it run elsewhere.
func TestLeaseLost_WorkerHadTasks_WaitsForTheDaemonsWord(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	w, ref, _, goOn := busyWorker(t, d, c)
	tm := retried(t, c, "f", 2)
	behind := submit(t, c, tm, "behind")
	l := onlyLease(t, c)
	c.mu.Lock()
	for l.class.queue.len() > 0 {
		c.sendTask(l, l.class.queue.pop())
	}
	l.conn.Flush()
	c.mu.Unlock()
	die(w)
	waitFor(t, "the lease is lost", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.poller.Glance()
		return l.gone
	})
	if ready, err := c.Ready(ref); ready || err != nil {
		t.Errorf("the task has ended before it is known how its worker did: %v, %v", ready, err)
	}
	c.brokenLease(&wire.LeaseBroken{LeaseID: l.id + 1, Detail: "another one"})
	c.brokenLease(&wire.LeaseBroken{LeaseID: l.id, Detail: "it was shot"})
	if code, words, _ := faultIn(t, c, ref); code != fault.WorkerCrashed || !strings.Contains(words, "it was shot") {
		t.Errorf("%s, %s", code, words)
	}
	var ran []string
	d.worker(func(w *Client, it *Item) {
		d.mu.Lock()
		ran = append(ran, textOf(it))
		d.mu.Unlock()
		echo(w, it)
	})
	expectOutcome(t, c, "the task behind it", behind, "behind", "")
	d.mu.Lock()
	if !slices.Equal(ran, []string{"behind"}) {
		t.Errorf("the next worker ran %q", ran)
	}
	d.mu.Unlock()
	c.mu.Lock()
	if len(c.leases) > 1 {
		t.Errorf("%d leases are left", len(c.leases))
	}
	c.mu.Unlock()
	goOn()
}
