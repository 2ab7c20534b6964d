package client

import (
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/localstore"
	"github.com/eagleray/eagleray/core/store"
	"github.com/eagleray/eagleray/core/wire"
)

// storeHost is the daemon and the clock as localstore asks them.
type storeHost Client

var (
	_ localstore.Daemon = (*storeHost)(nil)
	_ localstore.Clock  = (*storeHost)(nil)
)

// Pin implements localstore.Daemon.
func (h *storeHost) Pin(p *localstore.Pinning) {
	id := p.ID()
	h.daemon.Go(wire.TObjPin, wire.ObjRef{ObjectID: id[:]}, func(m *wire.Message, err error) {
		var at wire.ObjPlace
		if err == nil {
			err = m.Decode(&at)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.local.Placed(p, at, err)
	})
}

// OpenFile implements localstore.Daemon. Opening a file can take a while, so a
// goroutine does it.
func (h *storeHost) OpenFile(p *localstore.Pinning, at wire.ObjPlace) {
	go func() {
		file, err := store.MapFile(at.Path, at.Offset, at.Size)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.local.Opened(p, at, file, err)
	}()
}

// Pins implements localstore.Daemon.
func (h *storeHost) Pins(b *localstore.Batch) {
	h.daemon.Go(wire.TObjPins, wire.ObjRefs{ObjectIDs: b.IDs()}, func(m *wire.Message, err error) {
		var r wire.ObjPlaces
		if err == nil {
			err = m.Decode(&r)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.local.PlacedBatch(b, r, err)
	})
}

// Unpin implements localstore.Daemon.
func (h *storeHost) Unpin(id ids.Object) {
	(*Client)(h).push(wire.TObjUnpin, wire.ObjRef{ObjectID: id[:]})
}

// Create implements localstore.Daemon.
func (h *storeHost) Create(r *localstore.Room) {
	h.daemon.Go(wire.TObjCreate, r.Request(), func(m *wire.Message, err error) {
		var at wire.ObjPlace
		if err == nil {
			err = m.Decode(&at)
		}
		r.Placed(at, err)
	})
}

// Seal implements localstore.Daemon.
func (h *storeHost) Seal(id ids.Object, pinned bool) error {
	seal := wire.TObjSeal
	if pinned {
		seal = wire.TObjSealed
	}
	return h.daemon.PushNow(seal, wire.ObjRef{ObjectID: id[:]})
}

// Reuse implements localstore.Daemon. The calling thread writes the message itself:
// it copies the value next, and another thread's message would wait for that.
func (h *storeHost) Reuse(old, id ids.Object, size uint64) {
	_ = h.daemon.PushAtOnce(wire.TObjReuse, wire.ObjReuse{Old: old[:], ObjectID: id[:], Size: size})
}

// Free implements localstore.Daemon.
func (h *storeHost) Free(list [][]byte) {
	(*Client)(h).push(wire.TObjFree, wire.ObjRefs{ObjectIDs: list})
}

// Check implements localstore.Daemon.
func (h *storeHost) Check(q *localstore.Check) {
	h.daemon.Go(wire.TObjCheck, wire.ObjRefs{ObjectIDs: q.IDs()}, func(m *wire.Message, err error) {
		var lacks wire.ObjRefs
		if err == nil {
			err = m.Decode(&lacks)
		}
		q.Answered(lacks.ObjectIDs, err)
	})
}

// Now implements localstore.Clock.
func (h *storeHost) Now() time.Time { return time.Now() }

// After implements localstore.Clock.
func (h *storeHost) After(d time.Duration, f func()) localstore.Timer {
	return time.AfterFunc(d, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if !h.closed {
			f()
		}
	})
}
