package headprocess

import (
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// An actor whose worker dies in its constructor would, with many restarts, keep the cluster busy with nothing but that. The first restart is
// immediate. Those after it wait, each twice as long as the one before.
const (
	firstPause = 50 * time.Millisecond
	maxPause   = 10 * time.Second
)

// manyPauses is from how many entries on those of dead actors are looked for.
const manyPauses = 1000

// pauses counts the failed starts of actors.
type pauses struct {
	mu     sync.Mutex
	failed map[ids.Actor]int // in a row
	prune  int               // from how many entries on
}

// before returns how long the record's incarnation waits until it is placed. It is called once for each incarnation. Lives reports whether an
// actor may be placed again.
func (p *pauses) before(a *record.Actor, lives func(ids.Actor) bool) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !failedToStart(a) {
		delete(p.failed, a.ID)
		return 0
	}
	if p.failed == nil {
		p.failed, p.prune = make(map[ids.Actor]int), manyPauses
	}
	p.failed[a.ID]++
	if len(p.failed) > p.prune {
		for id := range p.failed {
			if !lives(id) {
				delete(p.failed, id)
			}
		}
		p.prune = max(manyPauses, 2*len(p.failed))
	}
	if n := p.failed[a.ID]; n > 1 {
		return min(firstPause<<min(n-2, 20), maxPause)
	}
	return 0
}

// failedToStart reports whether the worker of the incarnation before had died before it took calls.
func failedToStart(a *record.Actor) bool {
	switch a.Cause.Reason {
	case record.WorkerDied, record.OutOfMemory, record.GPUMemory:
		return a.Previous.Incarnation != 0 && a.Previous.Address == ""
	}
	return false
}
