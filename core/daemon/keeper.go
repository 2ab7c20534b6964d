package daemon

import (
	"log/slog"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/store"
)

// The keeper's constants.
const (
	prefaultFrom  = 1 << 20   // an allocation of this size starts prefaulting
	prefaultStep  = 32 << 20  // at a time
	prefaultAhead = 128 << 20 // warm free bytes wanted while puts go on
	punchEvery    = 5 * time.Second
	punchStep     = 64 << 20
	activeFor     = 2 * time.Second // after a large allocation puts count as going on
)

// keeper looks after the arena's pages: while large objects are being put it
// populates free pages ahead of them, and it gives pages back to the system
// that have been free for a while. Nothing is touched before the first large
// put. Its goroutine runs only while there is something to do.
type keeper struct {
	arena *store.Arena
	fd    int
	size  uint64
	log   *slog.Logger

	mu      sync.Mutex
	last    time.Time // of a large allocation
	running bool
	closed  bool
	wake    chan struct{}
	stopped chan struct{}
}

func newKeeper(a *store.Arena, fd int, size uint64, log *slog.Logger) *keeper {
	return &keeper{arena: a, fd: fd, size: size, log: log, wake: make(chan struct{}, 1)}
}

// Alloc is the arena's, and notices large allocations.
func (k *keeper) Alloc(size uint64) (uint64, bool) {
	off, ok := k.arena.Alloc(size)
	if size >= prefaultFrom {
		k.mu.Lock()
		k.last = time.Now()
		if !k.running && !k.closed {
			k.running = true
			k.stopped = make(chan struct{})
			go k.run(k.stopped)
		}
		k.mu.Unlock()
		select {
		case k.wake <- struct{}{}:
		default:
		}
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
		for k.active() && k.short() {
			off, size, ok := k.arena.TakeCold(prefaultStep)
			if !ok {
				break
			}
			if err := m.Prefault(off, size); err != nil {
				_ = k.arena.FreeCold(off)
				k.log.Warn("prefaulting the object store failed", "error", err)
				break
			}
			_ = k.arena.Free(off)
		}
		select {
		case <-k.wake:
		case <-tick.C:
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
		}
		k.mu.Lock()
		if k.closed || k.quiet() {
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

// short reports whether warm pages are missing. Near the end of the arena the
// last free range is left alone: a put may need it in one piece.
func (k *keeper) short() bool {
	s := k.arena.Stats()
	return s.FreeWarm < prefaultAhead && s.Capacity-s.Used > 2*prefaultAhead
}

// quiet reports whether nothing is left to do; mu held.
func (k *keeper) quiet() bool {
	s := k.arena.Stats()
	return s.FreeWarm == 0 && s.Used == 0 && time.Since(k.last) > activeFor
}

func (k *keeper) close() {
	k.mu.Lock()
	k.closed = true
	running, stopped := k.running, k.stopped
	k.mu.Unlock()
	if running {
		select {
		case k.wake <- struct{}{}:
		default:
		}
		<-stopped
	}
}
