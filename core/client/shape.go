package client

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eagleray/eagleray/core/wire"
)

// Functions have classes of their own, for their tasks differ in length. But a
// lease of one class would do for any other that needs the same: when its own
// queue is empty it serves those, in turn. The daemon, which counts leases by
// class, is told; it is not asked.

// shape is what classes have in common whose leases can be exchanged.
type shape struct {
	waiting []*class // those with a queue, longest unserved first
	idle    int      // leases that have nothing to do
	key     string
	classes int // that have it
}

// shapeKey tells shapes apart. Classes with alternatives, which choose lease by
// lease, and with workers that end after some calls have none.
func shapeKey(t *Template) string {
	if len(t.Fallback) > 0 || t.AfterMs > 0 || t.MaxCalls != 0 {
		return ""
	}
	var b strings.Builder
	resourcesKey(&b, t.Resources)
	fmt.Fprintf(&b, "|%s|%s|%t", t.EnvKey, t.Strategy, t.Enforce)
	return b.String()
}

func (c *submitter) shapeFor(t *Template) *shape {
	key := shapeKey(t)
	if key == "" {
		return nil
	}
	s := c.shapes[key]
	if s == nil {
		s = &shape{key: key}
		c.shapes[key] = s
	}
	s.classes++
	return s
}

// note keeps the list of the classes that wait; mu held.
func (k *class) note() {
	waits := k.queue.len() > 0 && k.bad == nil
	if waits == k.listed || k.shape == nil {
		return
	}
	k.listed = waits
	if waits {
		k.shape.waiting = append(k.shape.waiting, k)
		return
	}
	if i := slices.Index(k.shape.waiting, k); i >= 0 {
		k.shape.waiting = slices.Delete(k.shape.waiting, i, i+1)
	}
}

// takeIdle gives the class a lease of its shape that has nothing to do; nil if there is none; mu held.
func (c *submitter) takeIdle(k *class) *lease {
	if k.shape == nil || k.shape.idle == 0 {
		return nil
	}
	for _, l := range c.leases {
		if l.resting && l.class.shape == k.shape && l.class != k && l.open() {
			c.moveLease(l, k)
			return l
		}
	}
	return nil
}

// serveOther gives a lease that has nothing to do to the class of its shape
// that has waited longest, and reports whether there was one; mu held.
func (c *submitter) serveOther(l *lease) bool {
	s := l.class.shape
	if s == nil {
		return false
	}
	i := slices.IndexFunc(s.waiting, func(k *class) bool { return k != l.class })
	if i < 0 {
		return false
	}
	k := s.waiting[i]
	s.waiting = append(slices.Delete(s.waiting, i, i+1), k) // its next turn is after the others'
	c.moveLease(l, k)
	c.pump(k)
	return true
}

// moveLease makes l a lease of the class; mu held.
func (c *submitter) moveLease(l *lease, k *class) {
	if i := slices.Index(l.class.leases, l); i >= 0 {
		l.class.leases = slices.Delete(l.class.leases, i, i+1)
	}
	old := l.class
	l.class = k
	k.leases = append(k.leases, l)
	k.want = max(0, k.want-1)
	c.fx.Push(wire.TLeaseMove, wire.LeaseMove{LeaseID: l.id, ClassID: k.id})
	c.dropClass(old) // it may have had no more than this lease
}

// rest notes that the lease has nothing to do, or has again; mu held.
func (l *lease) rest(resting bool) {
	if l.resting == resting {
		return
	}
	l.resting = resting
	switch s := l.class.shape; {
	case s == nil:
	case resting:
		s.idle++
	default:
		s.idle--
	}
}

// leaseWanted: others wait for the lease. It is given back soon after it has nothing to do.
func (c *submitter) leaseWanted(id uint64) {
	l := c.leases[id]
	if l == nil {
		return
	}
	l.wanted = true
	if l.resting {
		c.lookAt(l.idleAt.Add(l.patience()))
	}
}
