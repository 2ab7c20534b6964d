package client

import (
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
)

const hourMs = int64(time.Hour / time.Millisecond)

// wanted is the want of the driver's only class as the daemon knows it.
func (d *fakeDaemon) wanted() (w want) {
	for _, x := range d.wants {
		w = x
	}
	return w
}

// soonDue makes the task that waits longest one that has waited for so many milliseconds more.
func soonDue(c *Client, more int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.submit.Classes {
		if k.Queue.Len() > 0 {
			k.Queue.First().Since -= uint32(more)
			c.submit.AdjustWant(k) // as the alarm does
		}
	}
}

func TestDue_AlternativeForATaskThatIsNotDue_GoesBack_AndTheTaskRunsLater(t *testing.T) {
	d := startDaemon(t)
	d.worker(tells)
	c := d.driver()
	d.gives(2, true)
	d.most = 1
	id := submitText(t, c, either(t, c, hourMs), "x")
	d.eventually("the lease comes back, and the want is told anew", func() bool { return d.given == 1 && d.wanted().n == 1 && d.wanted().due == 0 })
	if f, err := c.Get(id, time.Millisecond); f != nil || err != nil {
		t.Fatalf("got %v, %v, want a task that waits", f, err)
	}
	d.mu.Lock()
	d.most = 0
	d.mu.Unlock()
	soonDue(c, hourMs+1) // the daemon grants when the want is told
	if got := get(t, c, id); got != "cpu" {
		t.Errorf("the task ran %s, want cpu", got)
	}
}

func TestDue_TimePasses_TheDaemonHears(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	tm := either(t, c, 20)
	first := submitText(t, c, tm, "x")
	d.eventually("the daemon knows that the task is due", func() bool { return d.wanted().n == 1 && d.wanted().due == 1 })
	submitText(t, c, tm, "x")
	d.eventually("the daemon knows that both are due", func() bool { return d.wanted().n == 2 && d.wanted().due == 2 })
	if err := c.Cancel(first, false, false); err != nil {
		t.Fatal(err)
	}
	d.eventually("the daemon knows that one is left", func() bool { return d.wanted().n == 1 && d.wanted().due == 1 })
}

// The task that waited less is cancelled: the other one's time goes on.
func TestDue_ALaterTaskIsCancelled_TheOthersKeepTheirTime(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	tm := either(t, c, hourMs)
	var results []ids.Object
	for range 3 {
		results = append(results, submitText(t, c, tm, "x"))
	}
	soonDue(c, hourMs+1)
	d.eventually("one of three is due", func() bool { return d.wanted().n == 3 && d.wanted().due == 1 })
	if err := c.Cancel(results[2], false, false); err != nil {
		t.Fatal(err)
	}
	d.eventually("one of two is due", func() bool { return d.wanted().n == 2 && d.wanted().due == 1 })
	if err := c.Cancel(results[0], false, false); err != nil {
		t.Fatal(err)
	}
	d.eventually("none is due", func() bool { return d.wanted().n == 1 && d.wanted().due == 0 })
}

// What this process only keeps for tasks that may come is free when it asks for something with alternatives.
func TestWant_WithAlternatives_LeasesWithoutWorkGoBackFirst(t *testing.T) {
	d := startDaemon(t)
	d.worker(tells)
	c := d.driver()
	get(t, c, submitText(t, c, template(t, c, "plain"), "x"))
	c.mu.Lock()
	for _, l := range c.submit.Leases {
		l.IdleAt = time.Now().Add(time.Hour) // it would be kept
	}
	c.mu.Unlock()
	if got := get(t, c, submitText(t, c, either(t, c, 0), "x")); got != "gpu" {
		t.Errorf("the task ran %s, want gpu", got)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.given == 0 {
		t.Error("the lease without work was kept")
	}
}
