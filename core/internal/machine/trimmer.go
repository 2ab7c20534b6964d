package machine

import (
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// The time between two trims, which grows from the first to the second: an idle process runs little of its code.
const (
	soonestTrim = 500 * time.Millisecond
	rarestTrim  = time.Minute
)

// worthTrimming is how many bytes of heap make a garbage collection worthwhile. An idle process allocates next to nothing, so no collection
// would begin by itself for two minutes, and freed memory, for example of a large class, would stay in use.
const worthTrimming = 16 << 20

// Trimmer gives pages of this process's code back to the system when its start is over, because much of the code runs at the
// start only, and heap that is free. It does so less and less often. Its methods may be called on several goroutines. The zero Trimmer does nothing
// before Start.
type Trimmer struct {
	mu          sync.Mutex
	timer       *time.Timer // nil before Start
	wait        time.Duration
	collections uint64 // how many garbage collections there had been at the last trim
	stopped     bool
}

// Start arranges the first trim.
func (t *Trimmer) Start() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wait = soonestTrim
	t.timer = time.AfterFunc(t.wait, t.trim)
}

// Soon arranges a trim in a moment, because something large was freed.
func (t *Trimmer) Soon() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer != nil && !t.stopped {
		t.wait = soonestTrim
		t.timer.Reset(t.wait)
	}
}

// Stop ends it.
func (t *Trimmer) Stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	if t.timer != nil {
		t.timer.Stop()
	}
}

// trim gives back memory that the process does not need, and arranges the next time.
func (t *Trimmer) trim() {
	TrimCode()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.collections = trimHeap(t.collections)
	if !t.stopped {
		t.wait = min(2*t.wait, rarestTrim)
		t.timer.Reset(t.wait)
	}
}

// trimHeap collects garbage and gives the memory back, if there may be much of it and the process is idle. The process is idle if no
// collection has begun by itself since the last trim, when there had been as many as seen says. It returns how many
// there have been now.
func trimHeap(seen uint64) (collections uint64) {
	s := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"}}
	metrics.Read(s)
	if n := s[0].Value.Uint64(); n != seen || s[1].Value.Uint64()+s[2].Value.Uint64() < worthTrimming {
		return n
	}
	debug.FreeOSMemory()
	metrics.Read(s[:1])
	return s[0].Value.Uint64()
}
