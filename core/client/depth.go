package client

import (
	"math"
	"time"
)

// The depth is how many tasks a lease has at a time. Its worker runs one after
// the other. It should neither wait for its next task, nor have tasks that
// another worker could run now.

const (
	pipelineFor = 2000.0                // µs of measured work that a worker should have
	maxDepth    = 512                   // tasks
	deepFor     = 4000.0                // µs of work that it should have when the queue is long
	deepUpTo    = 20000.0               // µs: for tasks that run longer than this the way to the next task is no part
	deepAfter   = 20 * time.Millisecond // when no lease came for so long, no more leases will come soon
)

// pace is how long the tasks of a class run in one choice of resources.
type pace struct {
	us    float64 // smoothed execution time, µs; 0: unknown
	depth int     // how many tasks a lease may have at a time; 0 counts as 1
	deep  int     // the same when the queue is long; 0: no more than depth
}

func (p *pace) set(us float64) {
	p.us, p.depth, p.deep = us, max(1, min(maxDepth, int(pipelineFor/us))), 0
	if us < deepUpTo {
		p.deep = min(maxDepth, int(math.Ceil(deepFor/us))+1)
	}
}

// measure takes the time that a task ran.
func (p *pace) measure(us float64) { p.set(typical(p.us, us)) }

// outlier bounds what one measurement counts for: so many times what is typical.
const outlier = 4

// typical returns a running mean in which no single measurement counts for much. A
// function is short or long by its arguments, or by chance: one call of half a
// second among thousands of 20 µs says nothing about the next, and a plain mean
// would take the class for a slow one for dozens of calls. What has really
// become slower shows within a few calls.
func typical[T float64 | time.Duration](mean, now T) T {
	if mean > 0 {
		now = min(now, outlier*mean)
	}
	return smoothed(mean, now)
}

// smoothed returns the running mean of a series of measurements. A mean of 0 has none yet.
func smoothed[T float64 | time.Duration](mean, now T) T {
	if mean > 0 {
		return mean + (now-mean)/8
	}
	return now
}

// tooDeep is told when tasks came back because they had to wait for too long at
// their worker: the guess of how long they run was wrong.
func (p *pace) tooDeep() {
	if p.depth > 1 {
		p.set(max(p.us, pipelineFor))
	}
}

// share returns how many tasks of the queue are worth one more lease: as many as
// it would have at a time, whatever its choice.
func (k *class) share() int {
	if k.after > 0 {
		return 1
	}
	least := 0
	for _, p := range k.paces {
		if p.depth > 0 && (least == 0 || p.depth < least) {
			least = p.depth
		}
	}
	return max(1, least)
}

// open reports whether the lease may have another task.
func (l *lease) open() bool { return l.below(l.class.paces[l.choice].depth) }

// below reports whether the lease takes tasks and has less than so many.
func (l *lease) below(depth int) bool {
	return l.conn != nil && !l.paused && !l.recall && l.busy < max(1, depth) && !(l.once() && (l.used || l.early()))
}

// deeper returns a lease that may have more tasks than its depth says, nil if none
// may. Then its worker does not wait for its next task, and this process does not
// look at every answer. The queue must be long enough for all leases, and no
// lease must have come lately.
func (k *class) deeper() *lease {
	if k.after > 0 || len(k.leases) == 0 || k.queue.len() < 2*len(k.leases) {
		return nil
	}
	var best *lease
	for _, l := range k.leases {
		most := k.paces[l.choice].deep
		if !l.better && l.below(most) && most*len(k.leases) <= k.queue.len() && (best == nil || l.before(best)) {
			best = l
		}
	}
	if best != nil && time.Since(k.changed) < deepAfter {
		return nil
	}
	return best
}
