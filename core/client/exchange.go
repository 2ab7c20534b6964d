package client

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eagleray/eagleray/core/wire"
)

// Each function has a class of its own, because the tasks of different functions
// differ in length. But classes that ask for the same resources can exchange their
// leases. When the queue of a lease's class is empty the lease serves the other
// classes, in turn. The daemon counts leases for each class: it is told of an
// exchange, and not asked.

// shape is what classes have in common that exchange their leases.
type shape struct {
	waiting []*class // the classes with a queue; the one that was not served for longest is first
	idle    int      // how many of their leases have nothing to do
	key     string   // in submitter.shapes
	classes int      // how many classes have it
}

// shapeKey returns what tells shapes apart, "" for a class that exchanges nothing: a class with
// alternatives, because each of its leases has a choice, and one whose workers end after some calls.
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

// note puts the class into its shape's list of waiting classes, or takes it out.
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

// takeIdle gives the class a lease of another class of its shape that has nothing to do, nil if there is none.
func (c *submitter) takeIdle(k *class) *lease {
	if k.shape == nil || k.shape.idle == 0 {
		return nil
	}
	for _, l := range c.leases {
		if l.idle && l.class.shape == k.shape && l.class != k && l.open() {
			c.moveLease(l, k)
			return l
		}
	}
	return nil
}

// serveOther gives a lease that has nothing to do to the class of its shape that
// was not served for longest, and reports whether there is one.
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
	s.waiting = append(slices.Delete(s.waiting, i, i+1), k) // the other classes come before its next turn
	c.moveLease(l, k)
	c.pump(k)
	return true
}

// moveLease makes l a lease of another class.
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

// setIdle notes that the lease has nothing to do, or has something to do again.
func (l *lease) setIdle(idle bool) {
	if l.idle == idle {
		return
	}
	l.idle = idle
	switch s := l.class.shape; {
	case s == nil:
	case idle:
		s.idle++
	default:
		s.idle--
	}
}

// leaseWanted is told that others wait for the lease. It is given back soon after it has nothing to do.
func (c *submitter) leaseWanted(id uint64) {
	l := c.leases[id]
	if l == nil {
		return
	}
	l.wanted = true
	if l.idle {
		c.lookAt(l.idleAt.Add(l.patience()))
	}
}
