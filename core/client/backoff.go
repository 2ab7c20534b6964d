package client

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"time"
)

// A task whose worker ended is tried again at once the first time: workers die
// for reasons of their own. One that takes worker after worker with it waits,
// longer each time, so that a loop of crashes does not burn the machine.
const (
	crashDelay    = 50 * time.Millisecond // before the second retry
	maxCrashDelay = 10 * time.Second
)

// retryDelayVar names the milliseconds that every retry waits.
const retryDelayVar = "task_retry_delay_ms"

// delay is a task's time until it is queued again.
type delay struct {
	timer *time.Timer
	since time.Time
	until time.Time
	why   string
}

// describe says what the task waits for.
func (d *delay) describe(now time.Time) string {
	return fmt.Sprintf("tried again in %v: %s", max(0, d.until.Sub(now)).Round(100*time.Millisecond), d.why)
}

// crashed counts a worker that ended with the task, and returns how long to wait
// before it is tried again, at least least.
func (t *task) crashed(least time.Duration) time.Duration {
	if t.crashes < 255 {
		t.crashes++
	}
	return max(least, Backoff(int(t.crashes)-1, crashDelay, maxCrashDelay))
}

// Backoff is the time before a retry: nothing for the zeroth, base before the
// first, twice as much each time, at most limit; give or take a quarter, so
// that what failed together does not come back together.
func Backoff(n int, base, limit time.Duration) time.Duration {
	if n <= 0 || base <= 0 {
		return 0
	}
	d := min(limit, base)
	for ; n > 1 && d < limit; n-- {
		d = min(limit, 2*d)
	}
	return d*3/4 + rand.N(d/2+1)
}

// again queues a task that is nowhere else after a delay, before those that
// were submitted later. Cancelling ends the wait; what waits for long is told of; mu held.
func (c *Client) again(t *task, wait time.Duration) {
	c.againBecause(t, wait, fmt.Sprintf("its worker died, %s so far", times(int(t.crashes))))
}

// againBecause is again for another reason than a crash; mu held.
func (c *Client) againBecause(t *task, wait time.Duration, why string) {
	t.on = nil
	if wait <= 0 {
		c.requeue(t)
		return
	}
	if c.delayed == nil {
		c.delayed = map[*task]*delay{}
	}
	now := time.Now()
	d := &delay{since: now, until: now.Add(wait), why: why}
	c.delayed[t] = d
	d.timer = time.AfterFunc(wait, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.delayed[t] != d || c.closed {
			return
		}
		delete(c.delayed, t)
		c.requeue(t)
	})
	c.watchPending()
}

// undelay takes a task out of those that wait for a retry; false: it is not there; mu held.
func (c *Client) undelay(t *task) bool {
	d := c.delayed[t]
	if d == nil {
		return false
	}
	d.timer.Stop()
	delete(c.delayed, t)
	return true
}

// requeue puts a task in front of its class's queue. A cancelled task does not
// come here: undelay takes it out first; mu held.
func (c *Client) requeue(t *task) {
	if d := t.badDep(); d != nil {
		c.failLike(t, d)
		return
	}
	k := t.tmpl.class
	if k.bad != nil {
		c.infeasible(t, k.bad)
	}
	k.queue.pushFront([]*task{t})
	c.pump(k)
}

// delayedTasks are those that wait for a retry, in the order of their submission; mu held.
func (c *Client) delayedTasks() []*task {
	out := make([]*task, 0, len(c.delayed))
	for t := range c.delayed {
		out = append(out, t)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].first < out[j].first })
	return out
}

// waitingToRetry groups by function what waits for a retry for as long as is worth a word; mu held.
func (c *Client) waitingToRetry(now time.Time) (out []*waitReport) {
	byName := map[string]*waitReport{}
	for t, d := range c.delayed {
		if now.Sub(d.since) < pendingAfter-pendingLook {
			continue
		}
		r := byName[t.tmpl.Name]
		if r == nil {
			r = &waitReport{name: t.tmpl.Name, why: "it is " + d.describe(now)}
			byName[t.tmpl.Name] = r
			out = append(out, r)
		}
		r.tasks++
	}
	return out
}
