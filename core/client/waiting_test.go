package client

import (
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
)

// look is one look of the timer, and what it would print.
func look(c *Client) map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looks++
	out := map[string]int{}
	reports, _ := c.stillWaiting(time.Now())
	for _, r := range reports {
		out[r.name] = r.tasks + r.actors
	}
	return out
}

func TestStillWaiting_BeganLater_NotReportedWithWhatWaitsForLong(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	never := submit(t, c, template(t, c, "never"), "")
	late, early := template(t, c, "late"), template(t, c, "early")
	tm := method(t, c, 0)
	actorNamed := func(name string) (id ids.Actor) {
		id = ids.NewActor(c.info.Job)
		c.mu.Lock()
		c.actors[id] = &actor{id: id, name: name, asking: true} // its place is never told
		c.mu.Unlock()
		return id
	}
	submit(t, c, early, "", never)
	callActor(t, c, actorNamed("Early"), tm, "")
	restarted := actorNamed("Restarted")
	callActor(t, c, restarted, tm, "")
	for range pendingTicks - 1 {
		if got := look(c); len(got) > 0 {
			t.Fatal("reported before its time:", got)
		}
	}
	submit(t, c, late, "", never)
	submit(t, c, early, "", never) // of the same name as one that waits
	callActor(t, c, actorNamed("Late"), tm, "")
	c.mu.Lock()
	a := c.actors[restarted]
	a.conn, a.stuck = &outConn{}, false // it ran meanwhile, and has just been lost
	c.actorLost(a, a.conn, nil)
	c.mu.Unlock()
	if got := look(c); got["early"] != 1 || got["Early"] != 1 || len(got) != 2 {
		t.Fatal("one early task and one early actor have waited for long, told was", got)
	}
	for range pendingTicks - 2 {
		if got := look(c); len(got) > 0 {
			t.Fatal("reported again, or before its time:", got)
		}
	}
	if got := look(c); got["late"] != 1 || got["Late"] != 1 || got["Restarted"] != 1 || len(got) != 3 {
		t.Fatal("the later ones have waited for long, told was", got)
	}
}

// names are the subjects of what has waited for long, were it now ten seconds later.
func (c *Client) waitingLater() (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looks += pendingTicks
	reports, _ := c.stillWaiting(time.Now().Add(pendingAfter))
	for _, r := range reports {
		names = append(names, r.subject())
	}
	return names
}

func TestPending_OrdinaryQueue_IsNotReported(t *testing.T) {
	d := startDaemon(t)
	began, end := make(chan struct{}, 10), make(chan struct{})
	d.worker(func(c *Client, it *Item) {
		began <- struct{}{}
		<-end
		echo(c, it)
	})
	c := d.driver()
	tm := template(t, c, "f")
	first := submit(t, c, tm, "first")
	<-began
	for range 3 {
		submit(t, c, tm, "behind")
	}
	submit(t, c, tm, "takes it", first)
	if names := c.waitingLater(); len(names) > 0 {
		t.Errorf("while a task of the class runs, %q are reported", names)
	}
	c.mu.Lock()
	for _, l := range c.leases {
		l.blocked = true // as its worker says when the task waits for an object
	}
	c.mu.Unlock()
	if names := c.waitingLater(); len(names) == 0 {
		t.Error("while the only task that runs waits for an object, nothing is reported")
	}
	close(end)
	get(t, c, first)
}

func TestPending_NothingRuns_IsReported(t *testing.T) {
	c := startDaemon(t).driver() // no worker ever comes
	submit(t, c, template(t, c, "f"), "waits")
	if names := c.waitingLater(); len(names) != 1 || names[0] != "task f" {
		t.Errorf("reported %q", names)
	}
}
