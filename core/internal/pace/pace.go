package pace

import (
	"math"
	"time"
)

// The depth is how many tasks a lease has at a time. Its worker runs one after
// the other. It should neither wait for its next task, nor have tasks that
// another worker could run now.

const (
	pipelineFor = 2000.0  // µs of measured work that a worker should have
	maxDepth    = 512     // tasks
	deepFor     = 4000.0  // µs of work that it should have when the queue is long
	deepUpTo    = 20000.0 // µs: for tasks that run longer than this the way to the next task is no part
)

// Pace is how long the tasks of a class run in one choice of resources.
type Pace struct {
	Micros float64 // smoothed execution time, µs; 0: unknown
	Depth  int     // how many tasks a lease may have at a time; 0 counts as 1
	Deep   int     // the same when the queue is long; 0: no more than depth
}

func (p *Pace) set(us float64) {
	p.Micros, p.Depth, p.Deep = us, max(1, min(maxDepth, int(pipelineFor/us))), 0
	if us < deepUpTo {
		p.Deep = min(maxDepth, int(math.Ceil(deepFor/us))+1)
	}
}

// Measure takes the time that a task ran.
func (p *Pace) Measure(us float64) { p.set(typical(p.Micros, us)) }

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

// Ahead returns how many more tasks a worker should have than its depth says, if an answer of it and the next task
// are on their way for so many µs: as many as it runs meanwhile. It is 0 before the first measurement.
func (p *Pace) Ahead(us float64) int {
	if p.Micros <= 0 {
		return 0
	}
	return int(min(maxDepth, math.Ceil(us/p.Micros)))
}

// TooDeep is told when tasks came back because they had to wait for too long at
// their worker: the guess of how long they run was wrong.
func (p *Pace) TooDeep() {
	if p.Depth > 1 {
		p.set(max(p.Micros, pipelineFor))
	}
}

// Share returns how many tasks of a queue are worth one more lease: as many as it would
// have at a time, whatever its choice of resources.
func Share(paces []Pace) int {
	least := 0
	for _, p := range paces {
		if p.Depth > 0 && (least == 0 || p.Depth < least) {
			least = p.Depth
		}
	}
	return max(1, least)
}
