package client

import (
	"fmt"
	"maps"
	"math"
	"math/bits"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/resource"
)

// When the machine runs out of memory the daemon ends workers. Their tasks run
// again, and max_retries does not pay for that: retries.go counts these retries
// separately, and each delay is longer than the one before. A task with
// max_retries=0 does not run again.

// The settings say how many such retries a task has (-1: unlimited), and the
// delay before the first one in milliseconds.
const (
	oomRetriesVar = "task_oom_retries"
	oomDelayVar   = "task_oom_retry_delay_base_ms"
)

// The defaults are Ray's.
const (
	oomRetries = -1
	oomDelayMs = 1000
)

// maxOOMDelay bounds the wait before such a retry.
const maxOOMDelay = time.Minute

// memoryName is the resource that a retry may ask more of.
const memoryName = "memory"

// outOfMemory carries out what is decided about a task whose worker the daemon
// has ended because the machine ran out of memory. The worker held so many
// bytes; mu held.
func (c *submitter) outOfMemory(t *task, detail string, held uint64) {
	v := c.judge(t, memoryRanOut)
	if v.again() && t.tmpl.MoreMemory && !c.enlarge(t, held) {
		v = verdict{refusal: noMoreMemory, used: t.attempts}
		v.used.tries = t.tried()
	}
	t.spend(&v)
	if !v.again() {
		c.failTask(t, fault.New(fault.OutOfMemory, "%s%s", detail, c.triedOOM(t)))
		return
	}
	c.again(t, v.wait(), fmt.Sprintf("the machine ran out of memory, %s so far", times(int(t.ooms))))
}

// oomDelay is the delay before a retry for want of memory when there were n such retries before.
func oomDelay(base time.Duration, n uint8) time.Duration {
	if n >= 32 || base > maxOOMDelay>>n {
		return maxOOMDelay
	}
	return base << n
}

// triedOOM returns the end of the message of a task that does not run again.
func (c *submitter) triedOOM(t *task) string {
	if t.tmpl.MaxRetries == 0 {
		return "\nIt is not tried again (max_retries=0)."
	}
	text := fmt.Sprintf("\nIt was tried %d times", int(t.ooms)+1)
	if t.ooms == 0 {
		text = "\nIt was tried once"
	}
	n := t.tmpl.Resources[memoryName]
	switch {
	case t.tmpl.MoreMemory && n > 0 && n >= c.info.Totals.Resources[memoryName]:
		text += fmt.Sprintf(", the last time with memory=%d, which is all that the node has", n/int64(resource.Unit))
	case t.tmpl.MoreMemory && n > 0:
		text += fmt.Sprintf(", the last time with memory=%d", n/int64(resource.Unit))
	}
	if limit := c.fx.Number(oomRetriesVar, oomRetries); limit >= 0 && int(t.ooms) >= limit {
		text += fmt.Sprintf(" (task_oom_retries=%d)", limit)
	}
	return text + "."
}

// enlarge lets the task ask for twice the memory: of what it has asked for or,
// if it has not said, of what it held, rounded up. It reports whether that is
// more than before: nothing has more than the node.
func (c *submitter) enlarge(t *task, held uint64) bool {
	tm := t.tmpl
	total := c.info.Totals.Resources[memoryName]
	asked := tm.Resources[memoryName]
	if c.asksForAll(tm) {
		return false
	}
	if tm.larger == nil || asked == 0 { // what was held differs from task to task
		want := min(total, doubled(asked, held))
		x, err := c.withMemory(tm, want)
		if err != nil {
			return false
		}
		if old := tm.larger; old != nil && old != x {
			old.retired = true
			c.dropTemplate(old)
		}
		tm.larger = x
	}
	t.become(tm.larger)
	c.dropTemplate(tm)
	return true
}

// asksForAll reports whether a template asks for all the memory of the node.
func (c *submitter) asksForAll(tm *Template) bool {
	asked := tm.Resources[memoryName]
	return asked > 0 && asked >= c.info.Totals.Resources[memoryName]
}

// doubled returns twice the amount asked for, in units, or, when that is 0,
// twice the bytes held, the next power of two.
func doubled(asked int64, held uint64) int64 {
	if asked > 0 {
		return 2 * min(asked, math.MaxInt64/2)
	}
	n := max(held, 1<<20)
	n = 1 << min(bits.Len64(n-1), 40)
	return 2 * int64(n) * int64(resource.Unit)
}

// withMemory returns the template with so much of the memory resource, also in
// its alternatives that have less; mu held.
func (c *submitter) withMemory(tm *Template, want int64) (*Template, error) {
	if l := tm.larger; l != nil && l.Resources[memoryName] == want {
		return l, nil
	}
	x := *tm
	x.class, x.larger, x.retired, x.recipes = nil, nil, false, 0
	x.finished, x.failed, x.open = 0, 0, 0
	x.Resources = atLeast(tm.Resources, want)
	x.Fallback = nil
	for _, o := range tm.Fallback {
		y := *o
		y.Resources = atLeast(o.Resources, want)
		x.Fallback = append(x.Fallback, &y)
	}
	return &x, c.addTemplate(&x)
}

func atLeast(r map[string]int64, want int64) map[string]int64 {
	r = maps.Clone(r)
	if r == nil {
		r = make(map[string]int64)
	}
	r[memoryName] = max(r[memoryName], want)
	return r
}
