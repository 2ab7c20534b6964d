package classes

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/raftstate/internal/values"
)

const (
	// MaxPart caps the bytes of one part.
	MaxPart = 4 << 20
	// MaxBytes caps all classes together.
	MaxBytes = 1 << 30
)

// Why a part is not taken; the errors of package values are the others.
var (
	// ErrFull: the classes together would have more than MaxBytes.
	ErrFull = errors.New("there is no room for one more class")
	// ErrTwoSizes: a part that came before gave the class another size.
	ErrTwoSizes = errors.New("the class has another size")
)

// class is the copy of one object. It never changes: a new part makes a new class.
type class struct {
	size  uint64
	have  uint64         // bytes of parts
	parts []values.Value // in order
	users int            // actors that need it, registered or about to be
}

// pending lists the objects that an actor needs that is about to be registered. It never
// changes either.
type pending struct {
	node    ids.Node // of the actor's creator, zero when it is not known
	objects []ids.Object
}

// Table has the classes and who needs them.
type Table struct {
	classes map[ids.Object]*class
	pending map[ids.Actor]pending
	bytes   uint64         // sizes of the classes together
	counts  *values.Counts // of the large values of the whole state
}

// New returns an empty table, which adds its large values to the counts.
func New(counts *values.Counts) *Table {
	return &Table{classes: map[ids.Object]*class{}, pending: map[ids.Actor]pending{}, counts: counts}
}

// Clone returns a copy for Image, which does not change with the table. It has no counts, so it cannot be changed.
func (t *Table) Clone() *Table {
	return &Table{classes: maps.Clone(t.classes), pending: maps.Clone(t.pending), bytes: t.bytes}
}

// count adds by to the number of actors that need the object.
func (t *Table) count(object ids.Object, by int) {
	next := *t.classes[object]
	if next.users += by; next.users > 0 {
		t.classes[object] = &next
		return
	}
	t.bytes -= next.size
	for _, part := range next.parts {
		t.counts.Remove(part.Large()...)
	}
	delete(t.classes, object)
}

// Drop drops the classes of an actor that will not be registered.
func (t *Table) Drop(a ids.Actor) {
	t.Release(t.pending[a].objects)
	delete(t.pending, a)
}

// DropFrom drops the classes of unregistered actors whose creators were on a node that has died.
func (t *Table) DropFrom(n ids.Node) {
	for a, x := range t.pending {
		if x.node == n {
			t.Drop(a)
		}
	}
}

// Assign gives the objects to an actor that is being registered. It returns false, and
// changes nothing, when an object has not arrived whole.
func (t *Table) Assign(a ids.Actor, objects []ids.Object) bool {
	arrived := t.pending[a].objects
	for i, object := range objects {
		if !slices.Contains(arrived, object) || t.classes[object].have < t.classes[object].size || slices.Contains(objects[:i], object) {
			return false
		}
	}
	for _, object := range objects {
		t.count(object, 1)
	}
	t.Drop(a)
	return true
}

// Release takes the objects from an actor to which they were assigned.
func (t *Table) Release(objects []ids.Object) {
	for _, object := range objects {
		t.count(object, -1)
	}
}

// At says where a part belongs.
type At struct {
	Object ids.Object
	Actor  ids.Actor
	Size   uint64 // of the whole
	Offset uint64
	Node   ids.Node // of the creator
}

// Check refuses a part of so many bytes that no table could take.
func (a At) Check(part int) error {
	switch {
	case a.Actor == (ids.Actor{}):
		return errors.New("the actor has no id")
	case part > MaxPart:
		return fmt.Errorf("a part has %d bytes, at most %d are allowed", part, MaxPart)
	case a.Size == 0 || a.Offset > a.Size || uint64(part) > a.Size-a.Offset:
		return fmt.Errorf("a part of %d bytes at %d is outside of the %d bytes", part, a.Offset, a.Size)
	}
	return nil
}

// Put takes a part of a class for an actor that is about to be registered, and returns how many bytes of the class are there. A part that is not
// the next one is left out: another process has brought it before.
func (t *Table) Put(at At, part values.Value) (have uint64, err error) {
	c := t.classes[at.Object]
	switch {
	case c == nil && at.Size > MaxBytes-t.bytes:
		return 0, ErrFull
	case c != nil && c.size != at.Size:
		return 0, ErrTwoSizes
	}
	next := class{size: at.Size}
	if c != nil {
		next = *c
	}
	isNext := at.Offset == next.have && part.Size() > 0
	if isNext {
		if err := t.counts.Add(part.Large()...); err != nil {
			return 0, err
		}
	}
	if c == nil {
		t.bytes += at.Size
	}
	if use := t.pending[at.Actor]; !slices.Contains(use.objects, at.Object) {
		t.pending[at.Actor] = pending{at.Node, append(slices.Clip(use.objects), at.Object)}
		next.users++
	}
	if isNext {
		next.parts = append(slices.Clip(next.parts), part)
		next.have += part.Size()
	}
	t.classes[at.Object] = &next
	return next.have, nil
}

// Part returns the part of an object in which an offset is, the offset in that part, and the size of the whole. It reports false when the object
// is not there whole.
func (t *Table) Part(object ids.Object, offset uint64) (part values.Value, at, size uint64, ok bool) {
	c := t.classes[object]
	if c == nil || c.have < c.size {
		return values.Value{}, 0, 0, false
	}
	for _, part := range c.parts {
		if offset < part.Size() {
			return part, offset, c.size, true
		}
		offset -= part.Size()
	}
	return values.Value{}, 0, c.size, true
}

// Parts returns the parts of an object that are there.
func (t *Table) Parts(object ids.Object) []values.Value {
	if c := t.classes[object]; c != nil {
		return c.parts
	}
	return nil
}
