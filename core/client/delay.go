package client

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"time"
)

// This file has the delays before retries. retries.go says how long they are.
// A task whose worker died runs again at once the first time, because workers
// die for reasons of their own. Then each delay is twice as long as the one
// before, so that a task that ends each of its workers does not keep the machine busy.
const (
	crashDelay    = 50 * time.Millisecond // before the second retry
	maxCrashDelay = 10 * time.Second
)

// retryDelayVar names the setting with the least delay before a retry, in milliseconds.
const retryDelayVar = "task_retry_delay_ms"

// delay is the time for which a task is in no queue before it runs again.
type delay struct {
	timer timer
	since time.Time
	until time.Time
	why   string
}

// describe says what the task waits for.
func (d *delay) describe(now time.Time) string {
	return fmt.Sprintf("tried again in %v: %s", max(0, d.until.Sub(now)).Round(100*time.Millisecond), d.why)
}

// Backoff is the time before a retry: nothing for the zeroth, base before the
// first, twice as much each time, at most limit; give or take a quarter, so
// that what failed together does not come back together.
func Backoff(n int, base, limit time.Duration) time.Duration { return spread(growing(n, base, limit)) }

// growing is Backoff before it is varied.
func growing(n int, base, limit time.Duration) time.Duration {
	if n <= 0 || base <= 0 {
		return 0
	}
	d := min(limit, base)
	for ; n > 1 && d < limit; n-- {
		d = min(limit, 2*d)
	}
	return d
}

// spread varies a delay by up to a quarter of it, in both directions.
func spread(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return d*3/4 + rand.N(d/2+1)
}

// again queues a task that is nowhere else after a delay, in front of the tasks
// that were submitted later. Cancelling the task ends the delay. A delay that
// takes long is reported to the user with the reason why; mu held.
func (c *submitter) again(t *task, wait time.Duration, why string) {
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
	d.timer = c.fx.After(wait, func() {
		if c.delayed[t] == d {
			delete(c.delayed, t)
			c.requeue(t)
		}
	})
	c.watchPending()
}

// undelay ends the delay of a task without queueing it, and reports whether there was one; mu held.
func (c *submitter) undelay(t *task) bool {
	d := c.delayed[t]
	if d == nil {
		return false
	}
	d.timer.Stop()
	delete(c.delayed, t)
	return true
}

// requeue puts a task into the front of its class's queue. Cancelling a task
// calls undelay, so no cancelled task comes here; mu held.
func (c *submitter) requeue(t *task) {
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

// delayedTasks returns the tasks that have a delay, in the order of their submission; mu held.
func (c *submitter) delayedTasks() []*task {
	out := make([]*task, 0, len(c.delayed))
	for t := range c.delayed {
		out = append(out, t)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].first < out[j].first })
	return out
}

// waitingToRetry returns one report for each function whose tasks have had a delay for so long
// that the user should be told; mu held.
func (c *submitter) waitingToRetry(now time.Time) (out []*waitReport) {
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
