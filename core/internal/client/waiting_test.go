package client

import (
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/waiting"
)

// names are the subjects of what has waited for long, were it now ten seconds later.
func (c *Client) waitingLater() (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.submit.Looks += waiting.Ticks
	reports, _ := c.submit.StillWaiting(time.Now().Add(waiting.After))
	for _, r := range reports {
		names = append(names, r.Subject())
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
	first := submitText(t, c, tm, "first")
	<-began
	for range 3 {
		submitText(t, c, tm, "behind")
	}
	submitText(t, c, tm, "takes it", first)
	if names := c.waitingLater(); len(names) > 0 {
		t.Errorf("while a task of the class runs, %q are reported", names)
	}
	c.mu.Lock()
	for _, l := range c.submit.Leases {
		l.Blocked = true // as its worker says when the task waits for an object
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
	submitText(t, c, template(t, c, "f"), "waits")
	if names := c.waitingLater(); len(names) != 1 || names[0] != "task f" {
		t.Errorf("reported %q", names)
	}
}
