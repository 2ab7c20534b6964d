package leases

import (
	"slices"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// Each function has a class of its own, because the tasks of different functions
// differ in length. But classes that ask for the same resources can exchange their
// leases. When the queue of a lease's class is empty the lease serves the other
// classes, in turn. The daemon counts leases for each class: it is told of an
// exchange, and not asked.

// shapeFor returns the shape with a key for one more class, nil when the class exchanges nothing.
func (p *Pool[T, C]) shapeFor(key string) *shape[T, C] {
	if key == "" {
		return nil
	}
	s := p.shapes[key]
	if s == nil {
		s = &shape[T, C]{key: key}
		p.shapes[key] = s
	}
	s.classes++
	return s
}

// Note puts the class into its shape's list of waiting classes, or takes it out.
func (k *Class[T, C]) Note() {
	waits := k.Queue.Len() > 0 && k.Bad == nil
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
func (p *Pool[T, C]) takeIdle(k *Class[T, C]) *Lease[T, C] {
	if k.shape == nil || k.shape.idle == 0 {
		return nil
	}
	for _, l := range p.Leases {
		if l.idle && l.Class.shape == k.shape && l.Class != k && p.open(l) && k.takes(l) {
			p.moveLease(l, k)
			return l
		}
	}
	return nil
}

// moveLease makes l a lease of another class, which has tasks in its queue.
func (p *Pool[T, C]) moveLease(l *Lease[T, C], k *Class[T, C]) {
	l.Class.remove(l)
	old := l.Class
	l.Class = k
	k.Leases = append(k.Leases, l)
	if l.Node == 0 {
		k.Want = max(0, k.Want-1)
	} else {
		k.lower(p.homeAt(k, l.Node), 1)
	}
	p.host.Push(wire.TLeaseMove, wire.LeaseMove{LeaseID: l.ID, ClassID: k.ID})
	p.DropClass(old) // it may have had no more than this lease
}

// setIdle notes that the lease has nothing to do, or has something to do again.
func (l *Lease[T, C]) setIdle(idle bool) {
	if l.idle == idle {
		return
	}
	l.idle = idle
	switch s := l.Class.shape; {
	case s == nil:
	case idle:
		s.idle++
	default:
		s.idle--
	}
}

// serveOther gives a lease that has nothing to do to the class of its shape that
// was not served for longest, and reports whether there is one.
func (p *Pool[T, C]) serveOther(l *Lease[T, C]) bool {
	s := l.Class.shape
	if s == nil {
		return false
	}
	i := slices.IndexFunc(s.waiting, func(k *Class[T, C]) bool { return k != l.Class && k.takes(l) })
	if i < 0 {
		return false
	}
	k := s.waiting[i]
	s.waiting = append(slices.Delete(s.waiting, i, i+1), k) // the other classes come before its next turn
	p.moveLease(l, k)
	p.host.Pump(k)
	return true
}
