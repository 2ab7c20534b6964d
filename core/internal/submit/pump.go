package submit

import (
	"time"

	"github.com/eagleray/eagleray/core/internal/leases"
)

// Enqueue takes a task whose arguments are ready.
func (c *Submitter) Enqueue(t *Task) {
	if d := t.Bad(); d != nil {
		c.failLike(t, d)
		return
	}
	if t.TooMuch() {
		c.promote(t)
		return
	}
	c.approach(t)
	k := t.Template.Class
	if k.Bad != nil {
		c.infeasible(t, k.Bad)
	}
	push(&k.Queue, t)
	if k.Waits() {
		t.Since = leases.Ms(time.Now())
	}
	c.pump(k)
}

// pump sends queued tasks of a class to leases that have room, and asks the daemon for leases for the others.
func (c *Submitter) pump(k *Class) {
	for l := c.Next(k); l != nil; l = c.Next(k) {
		c.SendTask(l, k.Queue.Pop())
	}
	c.AdjustWant(k)
}

// SendTask sends a task to the worker of a lease.
func (c *Submitter) SendTask(l *Lease, t *Task) {
	if t.Template.Near != 0 && l.Node == 0 && t.Template.Near != c.Self.Node() {
		t.Came(c.table)
	}
	t.on = l.Channel
	l.Channel.send(t)
	l.Sent(c.Looks)
}
