package transport

import (
	"slices"
	"time"
)

// What waking costs differs between machines: a blocking round trip between two
// processors takes 10 µs on one machine and 300 µs on another. While both ends of a
// connection sleep, a call takes two wake-ups, the worker's and the caller's, and a look
// that is over before the worker has even woken finds nothing. So a caller measures what
// its calls one by one cost beyond the time that they ran, when it has slept for the
// answer: that is both wake-ups and little else. A look of that length lasts until a
// worker that sleeps has woken and answered; once looks are not vain, both ends stay awake.
//
// A worker does not know when its caller sent what it waits for. So the caller tells it
// what it has measured.

const (
	wakeupSamples = 16                   // the latest ones that count
	wakeupEnough  = 3                    // with fewer nothing is known
	wakeupEvery   = 4                    // later than that each fourth one is the occasion to sort them
	wakeupMost    = 2 * time.Millisecond // what took longer waited for something else: for a processor, or for a new process
	sleptAtLeast  = 5 * time.Microsecond // a wait that was over sooner had not slept
)

// wakeup learns what two wake-ups cost.
type wakeup struct {
	latest [wakeupSamples]time.Duration
	count  int           // how many were ever added
	known  time.Duration // 0: not known
}

// add notes what a call cost beyond its run.
func (w *wakeup) add(cost time.Duration) {
	if cost <= 0 || cost > wakeupMost {
		return
	}
	w.latest[w.count%wakeupSamples] = cost
	w.count++
	n := min(w.count, wakeupSamples)
	if n < wakeupEnough || w.count > wakeupSamples && w.count%wakeupEvery != 0 {
		return
	}
	// Beside processes that compute, many wake-ups wait for a processor: the lower
	// quarter did not. Where waking is dear it is dear each time.
	sorted := w.latest
	slices.Sort(sorted[:n])
	w.known = sorted[n/4]
}

// told takes the cost that another process has measured, unless this process has measured one itself.
func (w *wakeup) told(cost time.Duration) {
	if w.count < wakeupEnough {
		w.known = min(cost, wakeupMost)
	}
}

// cost returns the cost, 0 while it is not known.
func (w *wakeup) cost() time.Duration { return w.known }

// lone is a call that was sent while no other call was under way; no call has been sent since.
type lone struct {
	measured bool // there is such a call
	fd       int  // the connection that it was sent on
	seq      uint32
	sent     time.Time
	slept    bool // the wait for its answer has slept
}
