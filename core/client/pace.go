package client

import (
	"math"
	"time"
)

// How many tasks a lease has at a time. The worker runs one after the other; it
// must neither wait for the next one, nor have tasks that another could run now.

const (
	pipelineFor = 2000.0                // µs of measured work to have at a worker
	maxDepth    = 512                   // tasks
	aheadFor    = 4000.0                // µs, of a long queue's
	aheadUpTo   = 20000.0               // µs: of what runs longer the way to the next one is no part
	aheadAfter  = 20 * time.Millisecond // no lease came for so long: more will not come soon
)

// pace is how long the tasks of a class run in one choice.
type pace struct {
	us    float64 // smoothed execution time, µs; 0: unknown
	depth int     // how many of them a lease may have at a time; 0 counts as 1
	ahead int     // how many of a long queue; 0: as many as depth
}

func (p *pace) set(us float64) {
	p.us, p.depth, p.ahead = us, max(1, min(maxDepth, int(pipelineFor/us))), 0
	if us < aheadUpTo {
		p.ahead = min(maxDepth, int(math.Ceil(aheadFor/us))+1)
	}
}

// measure takes the time that a task ran.
func (p *pace) measure(us float64) { p.set(typical(p.us, us)) }

// outlier bounds what one measurement counts for: so many times what is typical.
const outlier = 4

// typical is a running mean in which no single measurement counts for much. A
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

// smoothed is a running mean of what is measured again and again; 0: it never was.
func smoothed[T float64 | time.Duration](mean, now T) T {
	if mean > 0 {
		return mean + (now-mean)/8
	}
	return now
}

// tooDeep is told when tasks came back that had to wait for too long: the
// guess of how long they run was wrong.
func (p *pace) tooDeep() {
	if p.depth > 1 {
		p.set(max(p.us, pipelineFor))
	}
}

// share is how many tasks of the queue are worth a lease: as many as it would
// have at a time, whatever its choice.
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

// ahead returns a lease that may have more tasks than its pace says, nil if none
// may. Its worker then need not wait for the next one, nor we look at every
// answer. That is for queues that no lease has come for lately and that have
// enough for all.
func (k *class) ahead() *lease {
	if k.after > 0 || len(k.leases) == 0 || k.queue.len() < 2*len(k.leases) {
		return nil
	}
	var best *lease
	for _, l := range k.leases {
		most := k.paces[l.choice].ahead
		if !l.better && l.below(most) && most*len(k.leases) <= k.queue.len() && (best == nil || l.before(best)) {
			best = l
		}
	}
	if best != nil && time.Since(k.changed) < aheadAfter {
		return nil
	}
	return best
}
