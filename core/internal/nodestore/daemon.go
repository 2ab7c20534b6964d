package nodestore

import (
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/localstore"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// host is the daemon and the clock as localstore asks them.
type host Store

var (
	_ localstore.Daemon = (*host)(nil)
	_ localstore.Clock  = (*host)(nil)
)

// Pin implements localstore.Daemon.
func (h *host) Pin(p *localstore.Pinning) {
	id := p.ID()
	h.daemon.Go(wire.TObjPin, wire.ObjPin{ObjectID: id[:], Argument: p.ForArgument()}, func(m *wire.Message, err error) {
		var at wire.ObjPlace
		if err == nil {
			err = m.Decode(&at)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.Store.Placed(p, at, err)
	})
}

// OpenFile implements localstore.Daemon. Opening a file can take a while, so a
// goroutine does it.
func (h *host) OpenFile(p *localstore.Pinning, at wire.ObjPlace) {
	go func() {
		file, err := store.MapFile(at.Path, at.Offset, at.Size)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.Store.Opened(p, at, file, err)
	}()
}

// Pins implements localstore.Daemon.
func (h *host) Pins(b *localstore.Batch) {
	h.daemon.Go(wire.TObjPins, wire.ObjRefs{ObjectIDs: b.IDs()}, func(m *wire.Message, err error) {
		var r wire.ObjPlaces
		if err == nil {
			err = m.Decode(&r)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.Store.PlacedBatch(b, r, err)
	})
}

// Unpin implements localstore.Daemon.
func (h *host) Unpin(id ids.Object) {
	_ = h.daemon.Push(wire.TObjUnpin, wire.ObjRef{ObjectID: id[:]}) // a broken connection ends the session elsewhere
}

// Create implements localstore.Daemon.
func (h *host) Create(r *localstore.Room) {
	h.daemon.Go(wire.TObjCreate, r.Request(), func(m *wire.Message, err error) {
		var at wire.ObjPlace
		if err == nil {
			err = m.Decode(&at)
		}
		r.Placed(at, err)
	})
}

// Seal implements localstore.Daemon.
func (h *host) Seal(id ids.Object, pinned bool) error {
	seal := wire.TObjSeal
	if pinned {
		seal = wire.TObjSealed
	}
	return h.daemon.PushNow(seal, wire.ObjRef{ObjectID: id[:]})
}

// Reuse implements localstore.Daemon. The calling thread writes the message itself:
// it copies the value next, and another thread's message would wait for that.
func (h *host) Reuse(old, id ids.Object, size uint64) {
	_ = h.daemon.PushAtOnce(wire.TObjReuse, wire.ObjReuse{Old: old[:], ObjectID: id[:], Size: size})
}

// Free implements localstore.Daemon.
func (h *host) Free(list [][]byte) {
	_ = h.daemon.Push(wire.TObjFree, wire.ObjRefs{ObjectIDs: list}) // as with Unpin
}

// Check implements localstore.Daemon.
func (h *host) Check(q *localstore.Check) {
	h.daemon.Go(wire.TObjCheck, wire.ObjRefs{ObjectIDs: q.IDs()}, func(m *wire.Message, err error) {
		var lacks wire.ObjMissing
		if err == nil {
			err = m.Decode(&lacks)
		}
		q.Answered(lacks.ObjectIDs, err)
	})
}

// Now implements localstore.Clock.
func (h *host) Now() time.Time { return time.Now() }

// After implements localstore.Clock.
func (h *host) After(d time.Duration, f func()) localstore.Timer {
	return time.AfterFunc(d, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.over == nil {
			f()
		}
	})
}
