package classes

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate/internal/values"
)

// ImagePart is a part in a snapshot. The parts of an object come in order, and a part without data when there
// is none.
type ImagePart struct {
	Object ids.Object `msgpack:"o"`
	Size   uint64     `msgpack:"s"` // of the whole
	Data   []byte     `msgpack:"d"`
}

// ImageBlob is a part in a snapshot that the heads keep as a file.
type ImageBlob struct {
	Object ids.Object  `msgpack:"o"`
	Size   uint64      `msgpack:"s"` // of the whole
	Part   record.Blob `msgpack:"p"`
}

// ImagePending says in a snapshot what an actor needs that is about to be registered. It comes after all parts.
type ImagePending struct {
	Actor   ids.Actor    `msgpack:"a"`
	Objects []ids.Object `msgpack:"o"`
	Node    ids.Node     `msgpack:"n"`
}

// Image gives the table as it is in a snapshot, in an order that follows from the table alone.
func (t *Table) Image(part func(*ImagePart), blob func(*ImageBlob), pending func(*ImagePending)) {
	for _, object := range sorted(maps.Keys(t.classes), func(id ids.Object) []byte { return id[:] }) {
		c := t.classes[object]
		if len(c.parts) == 0 {
			part(&ImagePart{object, c.size, nil})
		}
		for _, p := range c.parts {
			if p.Blob != nil {
				blob(&ImageBlob{object, c.size, *p.Blob})
			} else {
				part(&ImagePart{object, c.size, p.Data})
			}
		}
	}
	for _, a := range sorted(maps.Keys(t.pending), func(id ids.Actor) []byte { return id[:] }) {
		x := t.pending[a]
		pending(&ImagePending{a, x.objects, x.node})
	}
}

// sorted returns ids in the order of their bytes.
func sorted[T any](all iter.Seq[T], bytesOf func(T) []byte) []T {
	return slices.SortedFunc(all, func(a, b T) int { return bytes.Compare(bytesOf(a), bytesOf(b)) })
}

// RestorePart takes a part of a snapshot.
func (t *Table) RestorePart(p *ImagePart) error {
	return t.restore(p.Object, p.Size, values.Value{Data: p.Data})
}

// RestoreBlob takes a part of a snapshot that the heads keep as a file.
func (t *Table) RestoreBlob(p *ImageBlob) error {
	if err := t.counts.Restore(p.Part); err != nil {
		return err
	}
	return t.restore(p.Object, p.Size, values.Value{Blob: &p.Part})
}

func (t *Table) restore(object ids.Object, size uint64, part values.Value) error {
	c := t.classes[object]
	if c == nil {
		c = &class{size: size}
		t.classes[object] = c
		t.bytes += size
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

// RestoreUser says that an actor of a snapshot needs the objects. It is called when all parts are there.
func (t *Table) RestoreUser(objects []ids.Object) error {
	for _, object := range objects {
		if t.classes[object] == nil {
			return fmt.Errorf("object %s, which an actor needs, is missing", object)
		}
		t.classes[object].users++
	}
	return nil
}

// RestorePending is RestoreUser of an actor that is about to be registered.
func (t *Table) RestorePending(p *ImagePending) error {
	if err := t.RestoreUser(p.Objects); err != nil {
		return err
	}
	t.pending[p.Actor] = pending{p.Node, p.Objects}
	return nil
}
