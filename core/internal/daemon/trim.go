package daemon

import (
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/eagleray/eagleray/core/internal/machine"
)

// The daemon gives pages of its code back to the system when its start is over, because
// much of the code runs at the start only. After that it does so less and less often: an
// idle daemon runs little of its code.
const (
	soonestTrim = 500 * time.Millisecond
	rarestTrim  = time.Minute
)

// worthTrimming is how many bytes of heap make a garbage collection worthwhile. An idle
// daemon allocates next to nothing, so no collection would begin by itself for two
// minutes, and freed memory, for example of a large class, would stay in use.
const worthTrimming = 16 << 20

// trim gives back memory that the daemon does not need. It is run by trimTimer.
func (d *Daemon) trim() {
	machine.TrimCode()
	var seen uint64
	d.locked(func() { seen = d.collections })
	seen = trimHeap(seen)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.collections = seen
	if d.closing {
		return
	}
	d.trimWait = min(2*d.trimWait, rarestTrim)
	d.trimTimer.Reset(d.trimWait)
}

// trimSoon makes the daemon trim in a moment, because something large was freed; mu held.
func (d *Daemon) trimSoon() {
	if d.trimTimer != nil && !d.closing {
		d.trimWait = soonestTrim
		d.trimTimer.Reset(d.trimWait)
	}
}

// trimHeap collects garbage and gives the memory back, if there may be much of it and the
// daemon is idle. The daemon is idle if no collection has begun by itself since the last
// trim, when there had been as many as seen says. It returns how many there have been now.
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
