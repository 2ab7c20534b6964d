package refs

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
)

// State says what is known of an object's value.
type State uint8

// The states of an object. Hopeless can still become ready when the cluster's
// resources change. Inline and Failed are final; Stored is unless the copy is lost.
const (
	Pending  State = iota
	Hopeless       // its task can never be scheduled here; Fault says why
	Emptied        // only lineage needs it: its value was let go, and can be computed again
	Inline         // Value is its envelope
	Stored         // in the node's arena, Size bytes
	Failed         // Fault instead of a value
)

// Ready reports whether get returns without waiting for anybody.
func (s State) Ready() bool { return s >= Inline }

// Object is what this process knows of one object.
type Object struct {
	ID        ids.Object
	State     State
	IsError   bool   // the value is an exception
	Asked     bool   // borrowed: the owner was asked for the value
	Seen      bool   // somebody has looked at the failure that it is
	OwnerAddr string // socket of the owner; "" when it is ours
	Site      uint32 // where in the program it was made or came; core/client's number
	Maker     uint32 // the function that makes it; core/client's number
	Stamp     uint32 // of a wait that counts it; core/client's number
	Local     int32  // references in this process's program
	Pins      int32  // tasks, containers, replies
	Size      uint64
	Value     []byte
	Fault     *fault.Error
	Contained []*Object // kept alive by this value
	Producer  any       // the unfinished task that returns it
	Watch     any       // who waits; core/client's
	Map       any       // core/client's pin of the stored copy
	Recipe    *Recipe   // how it can be computed again; nil: it never had one
	borrowers map[ids.Owner]struct{}
	Lineage   int32 // recipes that need it
	captive   bool  // only recipes hold its value
	Shared    bool  // others may know of it: it was pinned, borrowed, or its reference written
}

// Owned reports whether this process owns the object.
func (o *Object) Owned() bool { return o.OwnerAddr == "" }

// Borrowers returns how many processes borrow the object.
func (o *Object) Borrowers() int { return len(o.borrowers) }

// Table holds the objects of one process.
type Table struct {
	self     ids.Owner
	job      ids.Job
	next     uint64
	owned    index
	borrowed map[ids.Owner]*index
	foreign  int // how many are borrowed
	lender   ids.Owner
	lentTo   map[ids.Owner]int // how many objects of ours a process borrows
	lent     *index            // of lender, who was asked about last; nil: nobody
	freed    []*Object         // died since the last Take
	todo     []*Object         // to be looked at by work

	// Lineage, see lineage.go.
	oldest, newest *Recipe
	recipeBytes    uint64
	captive        uint64
	emptied        []*Object // since the last TakeEmptied
	unused         []any     // tasks, since the last TakeUnused
}

// NewTable returns the empty table of process self in a job.
func NewTable(self ids.Owner, job ids.Job) *Table {
	return &Table{self: self, job: job, owned: newIndex(), borrowed: map[ids.Owner]*index{}, lentTo: map[ids.Owner]int{}}
}

// Len returns how many objects are owned and borrowed.
func (t *Table) Len() (owned, borrowed int) { return t.owned.n, t.foreign }

// Each calls f with every object until it returns false; f must not change the table.
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

// New makes an object of ours with the given index among a task's returns (0:
// put) and local references.
func (t *Table) New(index uint32, local int32) *Object {
	t.next++
	o := &Object{ID: ids.NewObject(t.next, t.self, t.job, index), Local: local}
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

// Borrow returns the object with a given owner's address, new when this process did not
// know it; then the owner has to be told.
func (t *Table) Borrow(id ids.Object, addr string) (o *Object, isNew bool) {
	if o := t.Find(id); o != nil {
		return o, false
	}
	o = &Object{ID: id, OwnerAddr: addr}
	if id.Owner() == t.self {
		// Ours, but gone: whoever held it did not tell us in time.
		o.OwnerAddr = ""
		o.State = Failed
		o.Fault = fault.New(fault.ObjectLost, "object %s was freed: its last reference went before this one arrived", id)
		t.owned.set(id.Count(), o)
		return o, false
	}
	t.lend(o)
	return o, true
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
	o.Shared = true
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
		return // most processes that end, and there may be a million objects
	}
	t.owned.each(func(o *Object) bool {
		if _, ok := o.borrowers[p]; ok {
			t.DropBorrower(o, p)
		}
		return true
	})
}

// Unref takes n local references away.
func (t *Table) Unref(o *Object, n int32) {
	o.Local -= n
	t.check(o)
}

// Pin keeps the object until Unpin.
func (t *Table) Pin(o *Object) {
	o.Pins++
	o.Shared = true
}

// Unpin undoes one Pin.
func (t *Table) Unpin(o *Object) {
	o.Pins--
	t.check(o)
}

// Contain makes outer keep inner alive.
func (t *Table) Contain(outer, inner *Object) {
	inner.Pins++
	inner.Shared = true
	outer.Contained = append(outer.Contained, inner)
}

// ContainAll makes outer, which contains nothing that is known here, keep all of
// inner alive. The slice is the table's from now on.
func (t *Table) ContainAll(outer *Object, inner []*Object) {
	for _, i := range inner {
		i.Pins++
	}
	outer.Contained = inner
}

func (t *Table) check(o *Object) {
	if o.held() {
		return
	}
	t.todo = append(t.todo, o)
	t.work()
}

// held reports whether somebody holds the object: its value must stay.
func (o *Object) held() bool { return o.Local > 0 || o.Pins > 0 || len(o.borrowers) > 0 }

// work lets go of what nobody holds, and of what that held: chains may be long.
func (t *Table) work() {
	for len(t.todo) > 0 {
		o := t.todo[len(t.todo)-1]
		t.todo = t.todo[:len(t.todo)-1]
		switch {
		case o.held() || t.Find(o.ID) != o:
		case o.Lineage > 0:
			t.lineageHolds(o)
		default:
			if o.Owned() {
				t.owned.remove(o.ID.Count())
			} else {
				t.unlend(o)
			}
			t.freed = append(t.freed, o)
			if r := o.Recipe; r != nil {
				o.Recipe = nil
				t.unlearn(r)
			}
			t.uncontain(o)
		}
	}
}

// Take returns the objects that died since the last call. Owned ones that are
// Stored have a copy to free; borrowed ones are to be given back.
func (t *Table) Take() []*Object {
	f := t.freed
	t.freed = nil
	return f
}
