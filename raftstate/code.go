package raftstate

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// The class of an actor that outlives its program has to outlive the program,
// too. A small class is in the actor's record. A large one is an object in the
// program's object store, so the state keeps a copy of that object. The copy
// arrives in parts before the actor is registered, is shared by all actors that
// name the same object, and goes when no actor can start any more that needs it.

const (
	// MaxCodePart caps the bytes of one part.
	MaxCodePart = 4 << 20
	// MaxCodeBytes caps what the state keeps of all classes together.
	MaxCodeBytes = 1 << 30
)

// ErrCodeFull says that the state has no room for one more large class.
var ErrCodeFull = fault.New(fault.StoreFull, "the cluster keeps at most %d MiB of large classes of detached actors, and this one does not fit: let the class capture less, or end detached actors that are not needed", MaxCodeBytes>>20)

// ErrCodeIncomplete says that an actor names a class that has not arrived whole.
var ErrCodeIncomplete = fault.New(fault.BadRequest, "the cluster does not have the whole of its class")

// code is the copy of one object. It never changes: a new part makes a new one.
type code struct {
	size  uint64
	have  uint64   // bytes of parts
	parts [][]byte // in order
	users int      // actors that need it, registered or about to be
}

// codeFor is what an actor needs that is about to be registered. It never changes, too.
type codeFor struct {
	node    ids.Node // of the actor's creator, zero when it is not known
	objects []ids.Object
}

// useCode counts one more actor, or one less, that needs the object.
func (m *Machine) useCode(object ids.Object, by int) {
	next := *m.code[object]
	if next.users += by; next.users > 0 {
		m.code[object] = &next
		return
	}
	m.codeBytes -= next.size
	delete(m.code, object)
}

// dropCode ends what an actor that is not registered was to need.
func (m *Machine) dropCode(a ids.Actor) {
	for _, object := range m.codeFor[a].objects {
		m.useCode(object, -1)
	}
	delete(m.codeFor, a)
}

// dropCodeFrom ends what the actors were to need whose creators a node had: they have died with it.
func (m *Machine) dropCodeFrom(n ids.Node) {
	for a, x := range m.codeFor {
		if x.node == n {
			m.dropCode(a)
		}
	}
}

// claimCode makes the objects those of an actor that is being registered; false
// when one has not arrived whole: then nothing changes.
func (m *Machine) claimCode(a ids.Actor, objects []ids.Object) bool {
	arrived := m.codeFor[a].objects
	for i, object := range objects {
		if !slices.Contains(arrived, object) || m.code[object].have < m.code[object].size || slices.Contains(objects[:i], object) {
			return false
		}
	}
	for _, object := range objects {
		m.useCode(object, 1)
	}
	m.dropCode(a)
	return true
}

// endCode lets go of the code of an actor that cannot start again.
func (m *Machine) endCode(a *record.Actor) {
	if len(a.Code) == 0 || a.Live() && (a.State != record.ActorAlive || a.MayRestart()) {
		return
	}
	for _, object := range a.Code {
		m.useCode(object, -1)
	}
	a.Code = nil
}

func (b *CodePart) kind() Kind      { return KindCodePart }
func (b *CodePart) subject() string { return "class in object " + b.Object.String() }
func (b *CodePart) check() error {
	switch {
	case b.Actor == (ids.Actor{}):
		return errors.New("the actor has no id")
	case len(b.Data) > MaxCodePart:
		return fmt.Errorf("a part has %d bytes, at most %d are allowed", len(b.Data), MaxCodePart)
	case b.Size == 0 || b.Offset > b.Size || uint64(len(b.Data)) > b.Size-b.Offset:
		return fmt.Errorf("a part of %d bytes at %d is outside of the %d bytes", len(b.Data), b.Offset, b.Size)
	}
	return nil
}

func (b *CodePart) apply(m *Machine) Result {
	if m.actors[b.Actor] != nil {
		return Result{Outcome: Exists}
	}
	if n := m.nodes[b.Node]; n != nil && n.State == record.NodeDead {
		return Result{Outcome: NodeGone} // the part was under way when its node was declared dead
	}
	c := m.code[b.Object]
	switch {
	case c == nil && b.Size > MaxCodeBytes-m.codeBytes:
		return Result{Outcome: CodeFull}
	case c == nil:
		c = &code{size: b.Size}
		m.codeBytes += b.Size
	case c.size != b.Size:
		return Result{Outcome: Invalid}
	}
	next := *c
	if use := m.codeFor[b.Actor]; !slices.Contains(use.objects, b.Object) {
		m.codeFor[b.Actor] = codeFor{b.Node, append(slices.Clip(use.objects), b.Object)}
		next.users++
	}
	if b.Offset == next.have && len(b.Data) > 0 { // else another process was quicker with this part
		next.parts = append(slices.Clip(next.parts), b.Data)
		next.have += uint64(len(b.Data))
	}
	m.code[b.Object] = &next
	return Result{Count: int(next.have)}
}

func (b *CodeDrop) kind() Kind      { return KindCodeDrop }
func (b *CodeDrop) subject() string { return "actor " + b.Actor.String() }
func (b *CodeDrop) check() error    { return nil }

func (b *CodeDrop) apply(m *Machine) Result {
	m.dropCode(b.Actor)
	return Result{}
}

// Code returns what is kept of an object from an offset on, up to the end of a
// part, and the size of the whole.
func (m *Machine) Code(object ids.Object, offset uint64) (data []byte, size uint64, ok bool) {
	c := m.code[object]
	if c == nil || c.have < c.size {
		return nil, 0, false
	}
	for _, part := range c.parts {
		if offset < uint64(len(part)) {
			return part[offset:], c.size, true
		}
		offset -= uint64(len(part))
	}
	return nil, c.size, true
}

type imageCode struct {
	Object ids.Object `msgpack:"o"`
	Size   uint64     `msgpack:"s"`
	Parts  [][]byte   `msgpack:"p"`
}

type imageCodeFor struct {
	Actor   ids.Actor    `msgpack:"a"`
	Objects []ids.Object `msgpack:"o"`
	Node    ids.Node     `msgpack:"n"`
}

// imageCode lays the code out.
func (m *Machine) imageCode() (list []imageCode, pending []imageCodeFor) {
	for object, c := range m.code {
		list = append(list, imageCode{object, c.size, c.parts})
	}
	slices.SortFunc(list, func(a, b imageCode) int { return bytes.Compare(a.Object[:], b.Object[:]) })
	for a, x := range m.codeFor {
		pending = append(pending, imageCodeFor{a, x.objects, x.node})
	}
	slices.SortFunc(pending, func(a, b imageCodeFor) int { return bytes.Compare(a.Actor[:], b.Actor[:]) })
	return list, pending
}

// restoreCode is the inverse, after the actors are there.
func (m *Machine) restoreCode(list []imageCode, pending []imageCodeFor) error {
	for _, x := range list {
		c := &code{size: x.Size, parts: x.Parts}
		for _, part := range x.Parts {
			c.have += uint64(len(part))
		}
		m.code[x.Object] = c
		m.codeBytes += x.Size
	}
	use := func(objects []ids.Object) error {
		for _, object := range objects {
			if m.code[object] == nil {
				return fmt.Errorf("object %s, which an actor needs, is missing", object)
			}
			m.code[object].users++
		}
		return nil
	}
	for _, a := range slices.SortedFunc(maps.Values(m.actors), func(a, b *record.Actor) int { return cmp.Compare(a.Ordinal, b.Ordinal) }) {
		if err := use(a.Code); err != nil {
			return err
		}
	}
	for _, x := range pending {
		if err := use(x.Objects); err != nil {
			return err
		}
		m.codeFor[x.Actor] = codeFor{x.Node, x.Objects}
	}
	return nil
}
