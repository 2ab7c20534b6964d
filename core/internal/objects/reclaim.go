package objects

import (
	"log/slog"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/internal/store"
)

const (
	largeFrom  = 1 << 20 // an allocation of so many bytes is large
	punchEvery = 5 * time.Second
	punchStep  = 64 << 20
	activeFor  = 2 * time.Second // so long after a large allocation more are expected
)

// A program that puts large objects with pauses should find existing pages. So this many bytes of
// freed pages, but at most a part of the arena, stay for this many looks after their range was freed.
const (
	keptWarm  = 256 << 20
	keptShare = 8
	keptLooks = 6
)

// reclaimer is the arena's allocator. It gives those pages of the arena back to the
// system that have been free for a while, unless large objects are being put: most
// of them after 5 to 10 seconds, the last keptWarm bytes after half a minute. Its
// goroutine runs only while there is something to do.
type reclaimer struct {
	arena *store.Arena
	fd    int
	size  uint64
	keeps uint64 // bytes of freed pages that stay for keptLooks
	log   *slog.Logger

	mu      sync.Mutex
	last    time.Time // of a large allocation
	running bool
	closed  bool
	stop    chan struct{} // closed by close
	stopped chan struct{}
}

func newReclaimer(a *store.Arena, fd int, size uint64, log *slog.Logger) *reclaimer {
	return &reclaimer{arena: a, fd: fd, size: size, keeps: min(keptWarm, size/keptShare), log: log, stop: make(chan struct{})}
}

// Alloc is the arena's, and notices large allocations.
func (k *reclaimer) Alloc(size uint64) (uint64, bool) {
	off, ok := k.arena.Alloc(size)
	if size >= largeFrom {
		k.noteLarge()
	}
	return off, ok
}

// noteLarge notes a large allocation, and starts the reclaimer's goroutine if it does not run.
func (k *reclaimer) noteLarge() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last = time.Now()
	if !k.running && !k.closed {
		k.running = true
		k.stopped = make(chan struct{})
		go k.run(k.stopped)
	}
}

// Window is the arena's.
func (k *reclaimer) Window(size uint64, cost func(off, size uint64) (uint64, bool)) ([]store.Piece, bool) {
	return k.arena.Window(size, cost)
}

// Merge is the arena's.
func (k *reclaimer) Merge(off, size uint64) error { return k.arena.Merge(off, size) }

// Free is the arena's.
func (k *reclaimer) Free(off uint64) error { return k.arena.Free(off) }

func (k *reclaimer) run(stopped chan struct{}) {
	defer close(stopped)
	m, err := store.Map(k.fd, k.size)
	if err != nil {
		k.log.Warn("the object store gives no pages back to the system", "error", err)
		return
	}
	defer m.Close()
	tick := time.NewTicker(punchEvery)
	defer tick.Stop()
	looks := []uint64{k.arena.Ticks()} // what Ticks was at the last looks, the oldest first
	for {
		select {
		case <-k.stop:
			return
		case <-tick.C:
		}
		if len(looks) >= keptLooks {
			k.punch(m, looks[len(looks)-keptLooks], 0)
		}
		k.punch(m, looks[len(looks)-1], k.keeps)
		if looks = append(looks, k.arena.Ticks()); len(looks) > keptLooks {
			looks = looks[1:]
		}
		if k.endIfQuiet() {
			return
		}
	}
}

// endIfQuiet notes that the reclaimer's goroutine ends, if nothing is left to do. It reports
// whether the goroutine is to end.
func (k *reclaimer) endIfQuiet() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.quiet() {
		k.running = false
	}
	return !k.running
}

// punch gives pages back that have been free since Ticks was ticks, until at most keep bytes of freed pages are left.
func (k *reclaimer) punch(m *store.Mapping, ticks, keep uint64) {
	for !k.active() {
		warm := k.arena.Stats().FreeWarm
		if keep > 0 && warm <= keep {
			return
		}
		step := uint64(punchStep)
		if keep > 0 {
			step = min(step, max(warm-keep, largeFrom))
		}
		off, size, ok := k.arena.TakeIdle(ticks, step)
		if !ok {
			return
		}
		if err := m.Punch(off, size); err != nil {
			_ = k.arena.Free(off)
			return
		}
		_ = k.arena.FreeCold(off)
	}
}

// active reports whether large objects are being put.
func (k *reclaimer) active() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return !k.closed && time.Since(k.last) < activeFor
}

// quiet reports whether nothing is left to do; mu held.
func (k *reclaimer) quiet() bool {
	s := k.arena.Stats()
	return s.FreeWarm == 0 && s.Used == 0 && time.Since(k.last) > activeFor
}

func (k *reclaimer) close() {
	if stopped := k.beginClose(); stopped != nil {
		<-stopped
	}
}

// beginClose ends the reclaimer's goroutine. It returns the channel that closes then, nil
// if no goroutine runs.
func (k *reclaimer) beginClose() <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.closed {
		k.closed = true
		close(k.stop)
	}
	if !k.running {
		return nil
	}
	return k.stopped
}
