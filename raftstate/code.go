package raftstate

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate/internal/values"
)

// When an actor outlives its program, its class must outlive the program, too. A small class is
// in the actor's record. A large class is an object in the program's object store, so the state
// keeps a copy of that object. The copy arrives in parts before the actor is registered. All
// actors that name the same object share the copy. It goes when no actor that needs it can start
// any more.

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

// code is the copy of one object. It never changes: a new part makes a new code.
type code struct {
	size  uint64
	have  uint64         // bytes of parts
	parts []values.Value // in order
	users int            // actors that need it, registered or about to be
}

// pendingCode lists the objects that an actor needs that is about to be registered. It never
// changes either.
type pendingCode struct {
	node    ids.Node // of the actor's creator, zero when it is not known
	objects []ids.Object
}

// countCodeUser adds by to the number of actors that need the object.
func (m *Machine) countCodeUser(object ids.Object, by int) {
	next := *m.code[object]
	if next.users += by; next.users > 0 {
		m.code[object] = &next
		return
	}
	m.codeBytes -= next.size
	for _, part := range next.parts {
		m.blobs.Remove(part.Large()...)
	}
	delete(m.code, object)
}

// dropCode drops the code of an actor that will not be registered.
func (m *Machine) dropCode(a ids.Actor) {
	for _, object := range m.pendingCode[a].objects {
		m.countCodeUser(object, -1)
	}
	delete(m.pendingCode, a)
}

// dropCodeFrom drops the code of unregistered actors whose creators were on a node that has died.
func (m *Machine) dropCodeFrom(n ids.Node) {
	for a, x := range m.pendingCode {
		if x.node == n {
			m.dropCode(a)
		}
	}
}

// assignCode gives the objects to an actor that is being registered. It returns false, and
// changes nothing, when an object has not arrived whole.
func (m *Machine) assignCode(a ids.Actor, objects []ids.Object) bool {
	arrived := m.pendingCode[a].objects
	for i, object := range objects {
		if !slices.Contains(arrived, object) || m.code[object].have < m.code[object].size || slices.Contains(objects[:i], object) {
			return false
		}
	}
	for _, object := range objects {
		m.countCodeUser(object, 1)
	}
	m.dropCode(a)
	return true
}

// releaseCode drops the code of an actor if the actor cannot start again.
func (m *Machine) releaseCode(a *record.Actor) {
	if len(a.Code) == 0 || a.Live() && (a.State != record.ActorAlive || a.MayRestart()) {
		return
	}
	for _, object := range a.Code {
		m.countCodeUser(object, -1)
	}
	a.Code = nil
}

func (b *CodePart) kind() Kind      { return KindCodePart }
func (b *CodePart) subject() string { return "class in object " + b.Object.String() }
func (b *CodePart) check() error    { return b.at().check(len(b.Data)) }

func (b *CodePart) at() codeAt { return codeAt{b.Object, b.Actor, b.Size, b.Offset, b.Node} }

func (b *CodePart) apply(m *Machine) Result { return m.putCode(b.at(), values.Value{Data: b.Data}) }

func (b *CodeBlob) kind() Kind      { return KindCodeBlob }
func (b *CodeBlob) subject() string { return "class in object " + b.Object.String() }
func (b *CodeBlob) check() error {
	if err := b.Part.Blob.Check(); err != nil {
		return err
	}
	return b.at().check(int(b.Part.Blob.Size))
}
func (b *CodeBlob) tickets() []record.BlobTicket { return []record.BlobTicket{b.Part.Ticket} }

func (b *CodeBlob) at() codeAt { return codeAt{b.Object, b.Actor, b.Size, b.Offset, b.Node} }

func (b *CodeBlob) apply(m *Machine) Result {
	return m.putCode(b.at(), values.Value{Blob: &b.Part.Blob})
}

// codeAt says where a part belongs.
type codeAt struct {
	Object ids.Object
	Actor  ids.Actor
	Size   uint64
	Offset uint64
	Node   ids.Node
}

func (b codeAt) check(part int) error {
	switch {
	case b.Actor == (ids.Actor{}):
		return errors.New("the actor has no id")
	case part > MaxCodePart:
		return fmt.Errorf("a part has %d bytes, at most %d are allowed", part, MaxCodePart)
	case b.Size == 0 || b.Offset > b.Size || uint64(part) > b.Size-b.Offset:
		return fmt.Errorf("a part of %d bytes at %d is outside of the %d bytes", part, b.Offset, b.Size)
	}
	return nil
}

// putCode takes a part of a class.
func (m *Machine) putCode(b codeAt, part values.Value) Result {
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
	case c != nil && c.size != b.Size:
		return Result{Outcome: Invalid}
	}
	next := code{size: b.Size}
	if c != nil {
		next = *c
	}
	isNext := b.Offset == next.have && part.Size() > 0 // else another process has brought this part before
	if isNext {
		if err := m.blobs.Add(part.Large()...); err != nil {
			return Result{Outcome: unnamed(err)}
		}
	}
	if c == nil {
		m.codeBytes += b.Size
	}
	if use := m.pendingCode[b.Actor]; !slices.Contains(use.objects, b.Object) {
		m.pendingCode[b.Actor] = pendingCode{b.Node, append(slices.Clip(use.objects), b.Object)}
		next.users++
	}
	if isNext {
		next.parts = append(slices.Clip(next.parts), part)
		next.have += part.Size()
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

// codePart returns the part of an object in which an offset is, the offset in that part, and the size of the whole.
func (m *Machine) codePart(object ids.Object, offset uint64) (part values.Value, at, size uint64, ok bool) {
	c := m.code[object]
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

// imageCodePart is a part of the code in a snapshot. The parts of an object come in order, and a part without data when there
// is none.
type imageCodePart struct {
	Object ids.Object `msgpack:"o"`
	Size   uint64     `msgpack:"s"` // of the whole
	Data   []byte     `msgpack:"d"`
}

// imageCodeBlob is a part of the code in a snapshot that the heads keep as a file.
type imageCodeBlob struct {
	Object ids.Object  `msgpack:"o"`
	Size   uint64      `msgpack:"s"` // of the whole
	Part   record.Blob `msgpack:"p"`
}

type imageCodeFor struct {
	Actor   ids.Actor    `msgpack:"a"`
	Objects []ids.Object `msgpack:"o"`
	Node    ids.Node     `msgpack:"n"`
}

// writeCode writes the code into a snapshot.
func (m *Machine) writeCode(w *imageWriter) {
	for _, object := range sortedIDs(maps.Keys(m.code), func(id ids.Object) []byte { return id[:] }) {
		c := m.code[object]
		if len(c.parts) == 0 {
			w.add(imagePart, &imageCodePart{object, c.size, nil})
		}
		for _, part := range c.parts {
			if part.Blob != nil {
				w.add(imagePartBlob, &imageCodeBlob{object, c.size, *part.Blob})
			} else {
				w.add(imagePart, &imageCodePart{object, c.size, part.Data})
			}
		}
	}
	for _, a := range sortedIDs(maps.Keys(m.pendingCode), func(id ids.Actor) []byte { return id[:] }) {
		x := m.pendingCode[a]
		w.add(imagePending, &imageCodeFor{a, x.objects, x.node})
	}
}

// restoreCode takes a part of a snapshot.
func (m *Machine) restoreCode(p *imageCodePart) error {
	return m.restorePart(p.Object, p.Size, values.Value{Data: p.Data})
}

// restoreCodeBlob takes a part of a snapshot that the heads keep as a file.
func (m *Machine) restoreCodeBlob(p *imageCodeBlob) error {
	if err := m.blobs.Restore(p.Part); err != nil {
		return err
	}
	return m.restorePart(p.Object, p.Size, values.Value{Blob: &p.Part})
}

func (m *Machine) restorePart(object ids.Object, size uint64, part values.Value) error {
	c := m.code[object]
	if c == nil {
		c = &code{size: size}
		m.code[object] = c
		m.codeBytes += size
	}
	if c.size != size || part.Size() > c.size-c.have {
		return fmt.Errorf("a part of object %s has %d bytes of %d, and %d of %d are there", object, part.Size(), size, c.have, c.size)
	}
	if part.Size() > 0 {
		c.parts = append(c.parts, part)
		c.have += part.Size()
	}
	return nil
}

// restoreCodeUsers says who needs the code. It is called when everything else is restored.
func (m *Machine) restoreCodeUsers(pending []imageCodeFor) error {
	use := func(objects []ids.Object) error {
		for _, object := range objects {
			if m.code[object] == nil {
				return fmt.Errorf("object %s, which an actor needs, is missing", object)
			}
			m.code[object].users++
		}
		return nil
	}
	for _, a := range m.actors {
		if err := use(a.Code); err != nil {
			return err
		}
	}
	for _, x := range pending {
		if err := use(x.Objects); err != nil {
			return err
		}
		m.pendingCode[x.Actor] = pendingCode{x.Node, x.Objects}
	}
	return nil
}
