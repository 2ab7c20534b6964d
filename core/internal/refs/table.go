package refs

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
)

// NewTable returns the empty table of process self, which others reach at addr, in a job.
func NewTable(self ids.Owner, job ids.Job, addr string, effects Effects) *Table {
	return &Table{effects: effects, self: self, addr: addr, job: job, owned: newIndex(), borrowed: map[ids.Owner]*index{}, lentTo: map[ids.Owner]int{}}
}

// Self returns the id of the process as an owner.
func (t *Table) Self() ids.Owner { return t.self }

// Len returns how many objects are owned and borrowed.
func (t *Table) Len() (owned, borrowed int) { return t.owned.n, t.foreign }

// Each calls f with every object until f returns false. It must not change the table.
func (t *Table) Each(f func(*Object) bool) {
	if !t.owned.each(f) {
		return
	}
	t.EachBorrowed(f)
}

// EachBorrowed is Each for what other processes own.
func (t *Table) EachBorrowed(f func(*Object) bool) {
	for _, x := range t.borrowed {
		if !x.each(f) {
			return
		}
	}
}

// New makes an object of ours with the given index among a task's returns (0
// for put) and the given number of local references.
func (t *Table) New(index uint32, local int32) *Object {
	t.next++
	o := &Object{ID: ids.NewObject(t.next, t.self, t.job, index), local: local}
	t.owned.set(t.next, o)
	return o
}

// Reserve sets the next n counts aside for objects that Place makes.
func (t *Table) Reserve(n uint64) { t.next += n }

// Place makes an object of ours with a reserved count.
func (t *Table) Place(count uint64, index uint32) *Object {
	o := &Object{ID: ids.NewObject(count, t.self, t.job, index)}
	t.owned.set(count, o)
	return o
}

// Peek returns the count that the next New will use.
func (t *Table) Peek() uint64 { return t.next + 1 }

// Find returns the object, nil when it is not known (any more).
func (t *Table) Find(id ids.Object) *Object {
	if id.Owner() == t.self {
		return t.owned.find(id.Count())
	}
	x := t.of(id.Owner())
	if x == nil {
		return nil
	}
	if o := x.find(id.Count()); o != nil && o.ID == id {
		return o
	}
	return nil
}

// FindOwned returns the owned object with that count, or nil.
func (t *Table) FindOwned(n uint64) *Object { return t.owned.find(n) }

// AddrOf returns the address of the object's owner.
func (t *Table) AddrOf(o *Object) string {
	if o.Owned() {
		return t.addr
	}
	return o.ownerAddr
}

// Borrow returns the object of a reference that came from elsewhere, with its
// owner's address. When the object is new here, its owner is told.
func (t *Table) Borrow(id ids.Object, addr string) *Object {
	if o := t.Find(id); o != nil {
		return o
	}
	o := &Object{ID: id, ownerAddr: addr}
	if id.Owner() == t.self {
		// This process owned it and has freed it: whoever held it did not tell us in time.
		o.ownerAddr = ""
		o.state = Failed
		o.fault = fault.New(fault.ObjectLost, "object %s was freed: its last reference went before this one arrived", id)
		t.owned.set(id.Count(), o)
		return o
	}
	t.lend(o)
	t.unregistered++
	t.effects.Borrow(o)
	return o
}

// AddBorrower records that process p holds the object.
func (t *Table) AddBorrower(o *Object, p ids.Owner) {
	if o.borrowers == nil {
		o.borrowers = make(map[ids.Owner]struct{}, 1)
	}
	if _, ok := o.borrowers[p]; !ok {
		o.borrowers[p] = struct{}{}
		t.lentTo[p]++
	}
	o.flags |= shared
}

// DropBorrower forgets that process p holds the object.
func (t *Table) DropBorrower(o *Object, p ids.Owner) {
	if _, ok := o.borrowers[p]; ok {
		delete(o.borrowers, p)
		if t.lentTo[p]--; t.lentTo[p] == 0 {
			delete(t.lentTo, p)
		}
	}
	t.check(o)
}

// DropProcess forgets everything that process p borrowed.
func (t *Table) DropProcess(p ids.Owner) {
	if t.lentTo[p] == 0 {
		return // as of most processes that end: the walk below may pass a million objects
	}
	t.owned.each(func(o *Object) bool {
		if _, ok := o.borrowers[p]; ok {
			t.DropBorrower(o, p)
		}
		return true
	})
}

// Ref adds a local reference.
func (t *Table) Ref(o *Object) { o.local++ }

// Unref takes n local references away.
func (t *Table) Unref(o *Object, n int32) {
	o.local -= n
	t.check(o)
}

// Pin keeps the object until Unpin.
func (t *Table) Pin(o *Object) {
	o.pins++
	o.flags |= shared
}

// PinHere is Pin for a moment in which nobody else hears of the object, so that it does not become shared.
func (t *Table) PinHere(o *Object) { o.pins++ }

// Unpin undoes one Pin or PinHere.
func (t *Table) Unpin(o *Object) {
	o.pins--
	t.check(o)
}

// Contain makes outer keep inner alive.
func (t *Table) Contain(outer, inner *Object) {
	inner.pins++
	inner.flags |= shared
	outer.contained = append(outer.contained, inner)
}

// ContainAll makes outer keep all of inner alive. Outer must contain nothing
// before. The slice is the table's from now on.
func (t *Table) ContainAll(outer *Object, inner []*Object) {
	for _, i := range inner {
		i.pins++
	}
	outer.contained = inner
}

// TakeContained returns what the object's value contains and forgets it. The
// objects stay pinned until the caller calls Unpin for each.
func (t *Table) TakeContained(o *Object) []*Object {
	inner := o.contained
	o.contained = nil
	return inner
}

func (t *Table) check(o *Object) {
	if o.held() {
		return
	}
	t.todo = append(t.todo, o)
	t.work()
}

// held reports whether somebody holds the object, so that its value must stay.
func (o *Object) held() bool { return o.local > 0 || o.pins > 0 || len(o.borrowers) > 0 }

// work releases objects that nobody holds, and then the objects that these held. It does not
// recurse, because chains may be long.
func (t *Table) work() {
	for len(t.todo) > 0 {
		o := t.todo[len(t.todo)-1]
		t.todo = t.todo[:len(t.todo)-1]
		switch {
		case o.held() || t.Find(o.ID) != o:
		case o.lineage > 0:
			t.lineageHolds(o)
		default:
			if o.Owned() {
				t.owned.remove(o.ID.Count())
			} else {
				t.unlend(o)
			}
			t.freed = append(t.freed, o)
			if r := o.recipe; r != nil {
				o.recipe = nil
				t.unlearn(r)
			}
			t.uncontain(o)
		}
	}
}
