package play

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Object names a new object that this process owns.
func (d *Driver) Object() ids.Object {
	d.next++
	return ids.NewObject(d.next, d.Owner(), ids.Job(d.Job.JobID), 0)
}

// Create asks for room for an object.
func (d *Driver) Create(id ids.Object, size uint64) (at wire.ObjPlace, err error) {
	err = d.Try(wire.TObjCreate, wire.ObjCreate{ObjectID: id[:], Size: size}, &at)
	return at, err
}

// Put makes an object of so many bytes in the arena.
func (d *Driver) Put(size uint64) ids.Object {
	d.T.Helper()
	id := d.Object()
	at, err := d.Create(id, size)
	if err != nil || at.Size != size || at.Path != "" {
		d.T.Fatalf("its place is %+v, %v", at, err)
	}
	d.Seal(id)
	return id
}

// Seal says that an object is written.
func (d *Driver) Seal(id ids.Object) { d.Push(wire.TObjSeal, wire.ObjRef{ObjectID: id[:]}) }

// Pin waits for an object's place and holds the object there.
func (d *Driver) Pin(id ids.Object) (at wire.ObjPlace, err error) {
	err = d.Try(wire.TObjPin, wire.ObjPin{ObjectID: id[:]}, &at)
	return at, err
}

// Unpin lets go of an object's place.
func (d *Driver) Unpin(id ids.Object) { d.Push(wire.TObjUnpin, wire.ObjRef{ObjectID: id[:]}) }

// Free says that nobody needs these objects any more.
func (d *Driver) Free(list ...ids.Object) {
	var raw [][]byte
	for i := range list {
		raw = append(raw, list[i][:])
	}
	d.Push(wire.TObjFree, wire.ObjRefs{ObjectIDs: raw})
}

// Stats asks how full the store is.
func (d *Driver) Stats() (s wire.ObjStats) {
	d.T.Helper()
	d.Call(wire.TObjStats, nil, &s)
	return s
}
