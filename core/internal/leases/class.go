package leases

import (
	"slices"

	"github.com/eagleray/eagleray/core/internal/pace"
	"github.com/eagleray/eagleray/core/internal/templates"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// ClassFor returns the class of a template, and makes it when there is none.
func (p *Pool[T, C]) ClassFor(t *templates.Template[Class[T, C]]) *Class[T, C] {
	key := t.ClassKey()
	if k := p.ByClass[key]; k != nil {
		return k
	}
	return p.DefineClass(p.nextClass, key, t)
}

// DefineClass makes a class with a number and tells the daemon of it.
func (p *Pool[T, C]) DefineClass(id uint32, key string, t *templates.Template[Class[T, C]]) *Class[T, C] {
	p.nextClass = max(p.nextClass, id+1)
	k := &Class[T, C]{ID: id, key: key, Name: t.Name, Where: t.Strategy, Paces: make([]pace.Pace, 1+len(t.Fallback)), after: t.AfterMs, near: t.Near, shape: p.shapeFor(t.ShapeKey())}
	p.Classes[k.ID] = k
	p.ByClass[key] = k
	p.host.Push(wire.TClassDefine, k.definition(t))
	return k
}

// DropClass removes a class that no template and no lease belongs to.
func (p *Pool[T, C]) DropClass(k *Class[T, C]) {
	if k.Templates > 0 || len(k.Leases) > 0 || p.Classes[k.ID] != k {
		return
	}
	delete(p.Classes, k.ID)
	delete(p.ByClass, k.key)
	if s := k.shape; s != nil {
		if s.classes--; s.classes == 0 {
			delete(p.shapes, s.key)
		}
	}
	p.host.Push(wire.TClassRetire, wire.LeaseWant{ClassID: k.ID})
	for _, h := range k.homes {
		p.host.PushTo(h.node, wire.TClassRetire, wire.LeaseWant{ClassID: k.ID})
	}
}

// remove takes a lease out of the class's list. A class without leases keeps no memory for them: there may be many
// such classes, and each would have room for as many leases as it ever had at once.
func (k *Class[T, C]) remove(l *Lease[T, C]) {
	i := slices.Index(k.Leases, l)
	if i < 0 {
		return
	}
	// Delete clears the place behind the last: a class must not hold the connection of a lease that has gone.
	if k.Leases = slices.Delete(k.Leases, i, i+1); len(k.Leases) == 0 {
		k.Leases = nil
	}
}

// Unwanted notes that the daemon has dropped what the class has asked for.
func (k *Class[T, C]) Unwanted() { k.Want, k.due = 0, 0 }

// Waits reports whether a task of the class waits for its first choice alone, so that its
// time is counted.
func (k *Class[T, C]) Waits() bool { return k.after > 0 }

// Runs reports whether a task of the class runs and does not itself wait for an object. Then the tasks behind
// it are in an ordinary queue.
func (k *Class[T, C]) Runs() bool {
	return slices.ContainsFunc(k.Leases, func(l *Lease[T, C]) bool { return l.Busy > 0 && !l.Blocked && !l.Gone })
}
