package daemon

import (
	"log/slog"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/store"
)

// The keeper's constants.
const (
	keepFrom   = 1 << 20 // an allocation of this size is large
	punchEvery = 5 * time.Second
	punchStep  = 64 << 20
	activeFor  = 2 * time.Second // after a large allocation puts count as going on
)

// keeper looks after the arena's pages: it gives those back to the system that have
// been free for a while, unless large objects are being put. Its goroutine runs only
// while there is something to do.
type keeper struct {
	arena *store.Arena
	fd    int
	size  uint64
	log   *slog.Logger

	mu      sync.Mutex
	last    time.Time // of a large allocation
	running bool
	closed  bool
	stop    chan struct{} // closed by close
	stopped chan struct{}
}

func newKeeper(a *store.Arena, fd int, size uint64, log *slog.Logger) *keeper {
	return &keeper{arena: a, fd: fd, size: size, log: log, stop: make(chan struct{})}
}

// Alloc is the arena's, and notices large allocations.
func (k *keeper) Alloc(size uint64) (uint64, bool) {
	off, ok := k.arena.Alloc(size)
	if size >= keepFrom {
		k.mu.Lock()
		k.last = time.Now()
		if !k.running && !k.closed {
			k.running = true
			k.stopped = make(chan struct{})
			go k.run(k.stopped)
		}
		k.mu.Unlock()
	}
	return off, ok
}

// Window is the arena's.
func (k *keeper) Window(size uint64, cost func(off, size uint64) (uint64, bool)) ([]store.Piece, bool) {
	return k.arena.Window(size, cost)
}

// Merge is the arena's.
func (k *keeper) Merge(off, size uint64) error { return k.arena.Merge(off, size) }

// Free is the arena's.
func (k *keeper) Free(off uint64) error { return k.arena.Free(off) }

func (k *keeper) run(stopped chan struct{}) {
	defer close(stopped)
	m, err := store.Map(k.fd, k.size)
	if err != nil {
		k.log.Warn("the object store's pages are not looked after", "error", err)
		return
	}
	defer m.Close()
	tick := time.NewTicker(punchEvery)
	defer tick.Stop()
	ticks := k.arena.Ticks()
	for {
		select {
		case <-k.stop:
			return
		case <-tick.C:
		}
		for !k.active() {
			off, size, ok := k.arena.TakeIdle(ticks, punchStep)
			if !ok {
				break
			}
			if err := m.Punch(off, size); err != nil {
				_ = k.arena.Free(off)
				break
			}
			_ = k.arena.FreeCold(off)
		}
		ticks = k.arena.Ticks()
		k.mu.Lock()
		if k.quiet() {
			k.running = false
			k.mu.Unlock()
			return
		}
		k.mu.Unlock()
	}
}

// active reports whether large puts go on.
func (k *keeper) active() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return !k.closed && time.Since(k.last) < activeFor
}

// quiet reports whether nothing is left to do; mu held.
func (k *keeper) quiet() bool {
	s := k.arena.Stats()
	return s.FreeWarm == 0 && s.Used == 0 && time.Since(k.last) > activeFor
}

func (k *keeper) close() {
	k.mu.Lock()
	again := k.closed
	k.closed = true
	running, stopped := k.running, k.stopped
	k.mu.Unlock()
	if !again {
		close(k.stop)
	}
	if running {
		<-stopped
	}
}
