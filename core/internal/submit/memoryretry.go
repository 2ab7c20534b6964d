package submit

import (
	"fmt"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/retry"
	"github.com/eagleray/eagleray/core/internal/templates"
)

// When the machine runs out of memory the daemon ends workers. Their tasks run
// again, and max_retries does not pay for that: package retry counts these retries
// separately, and each delay is longer than the one before. A task with
// max_retries=0 does not run again.

// outOfMemory carries out what is decided about a task whose worker the daemon
// has ended because the machine ran out of memory. The worker held so many
// bytes; mu held.
func (c *Submitter) outOfMemory(t *Task, detail string, held uint64) {
	v := c.judge(t, retry.MemoryRanOut)
	if v.Again() && t.Template.MoreMemory && !c.Enlarge(t, held) {
		v = c.judge(t, retry.NotEnlarged)
	}
	t.spend(&v)
	if !v.Again() {
		c.FailTask(t, fault.New(fault.OutOfMemory, "%s%s", detail, c.triedOOM(t)))
		return
	}
	c.Again(t, v.Wait(), fmt.Sprintf("the machine ran out of memory, %s so far", times(int(t.OOMs))))
}

// triedOOM returns the end of the message of a task that does not run again.
func (c *Submitter) triedOOM(t *Task) string {
	if t.Template.MaxRetries == 0 {
		return "\nIt is not tried again (max_retries=0)."
	}
	text := fmt.Sprintf("\nIt was tried %d times", int(t.OOMs)+1)
	if t.OOMs == 0 {
		text = "\nIt was tried once"
	}
	n := t.Template.Resources[templates.MemoryName]
	switch {
	case t.Template.MoreMemory && n > 0 && n >= c.mostMemory():
		whose := "the node"
		if c.mostMemory() != c.Totals.Resources[templates.MemoryName] {
			whose = "any node"
		}
		text += fmt.Sprintf(", the last time with memory=%d, which is all that %s has", n/int64(resource.Unit), whose)
	case t.Template.MoreMemory && n > 0:
		text += fmt.Sprintf(", the last time with memory=%d", n/int64(resource.Unit))
	}
	if limit := c.fx.Number(retry.OOMRetriesVar, retry.OOMRetries); limit >= 0 && int(t.OOMs) >= limit {
		text += fmt.Sprintf(" (task_oom_retries=%d)", limit)
	}
	return text + "."
}

// Enlarge lets the task ask for twice the memory: of what it has asked for or,
// if it has not said, of what it held, rounded up. It reports whether that is
// more than before: nothing has more than the largest node.
func (c *Submitter) Enlarge(t *Task, held uint64) bool {
	tm := t.Template
	if base := tm.NearTo(0); base != tm { // it goes to its large arguments when it is queued again
		t.become(base)
		tm = base
	}
	total := c.mostMemory()
	asked := tm.Resources[templates.MemoryName]
	if c.asksForAll(tm) {
		return false
	}
	if tm.Larger == nil || asked == 0 { // what was held differs from task to task
		want := min(total, templates.Doubled(asked, held))
		if old := tm.Larger; old == nil || old.Resources[templates.MemoryName] != want {
			tm.Larger = tm.WithMemory(want)
			c.addTemplate(tm.Larger)
			if old != nil {
				c.RetireTemplate(old)
			}
		}
	}
	t.become(tm.Larger)
	c.dropTemplate(tm)
	return true
}

// mostMemory returns the most memory that a node has. It may be more than this node has.
func (c *Submitter) mostMemory() int64 {
	if c.memory > 0 {
		return c.memory
	}
	return c.Totals.Resources[templates.MemoryName]
}

// asksForAll reports whether a template asks for all the memory of the largest node.
func (c *Submitter) asksForAll(tm *Template) bool {
	asked := tm.Resources[templates.MemoryName]
	return asked > 0 && asked >= c.mostMemory()
}
