package daemon

import (
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/eagleray/eagleray/core/machine"
)

// The daemon lets go of its code when what only its beginning runs is over, and
// then less and less often. An idle one runs little of it.
const (
	soonestRest = 500 * time.Millisecond
	rarestRest  = time.Minute
)

// worthReturning is from how many bytes of heap on a rest collects garbage. An idle
// daemon allocates next to nothing, so no collection would begin by itself for two
// minutes, and what was freed would stay: a large class, for example.
const worthReturning = 16 << 20

// rest is run by restTimer.
func (d *Daemon) rest() {
	machine.RestCode()
	d.mu.Lock()
	seen := d.collections
	d.mu.Unlock()
	seen = restHeap(seen)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.collections = seen
	if d.closing {
		return
	}
	d.resting = min(2*d.resting, rarestRest)
	d.restTimer.Reset(d.resting)
}

// restSoon has the daemon rest in a moment, since something large was freed; mu held.
func (d *Daemon) restSoon() {
	if d.restTimer != nil && !d.closing {
		d.resting = soonestRest
		d.restTimer.Reset(d.resting)
	}
}

// restHeap collects garbage and gives the memory back, if there may be much and the
// daemon is idle: no collection has begun by itself since the last rest, when there had
// been so many. It returns how many there have been now.
func restHeap(seen uint64) (collections uint64) {
	s := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"}}
	metrics.Read(s)
	if n := s[0].Value.Uint64(); n != seen || s[1].Value.Uint64()+s[2].Value.Uint64() < worthReturning {
		return n
	}
	debug.FreeOSMemory()
	metrics.Read(s[:1])
	return s[0].Value.Uint64()
}
