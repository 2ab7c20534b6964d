package submit

import (
	"fmt"
	"strings"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/retry"
)

// lostWithWorker carries out what is decided about a task that was at a worker
// which has ended. It returns true if the task is to go to the front of its
// class's queue now; false if it runs again later, or has failed; mu held.
func (c *Submitter) lostWithWorker(t *Task, l *Lease, detail string, s retry.Setback) bool {
	if s == retry.MemoryRanOut && !t.Canceled {
		c.outOfMemory(t, detail, l.Held)
		return false
	}
	switch v := c.retry(t, s); v.Refusal {
	case retry.Permitted:
		wait := v.Wait()
		if wait > 0 {
			c.Again(t, wait, fmt.Sprintf("its worker died, %s so far", times(int(t.Crashes))))
		}
		return wait == 0
	case retry.Cancelled:
		c.FailTask(t, cancelFault(t))
	case retry.Forbidden:
		c.FailTask(t, fault.New(l.Code, "%s", detail))
	default:
		c.FailTask(t, c.crashFault(t, l, detail))
	}
	return false
}

// setbackAt says what the end of the lease's worker means for the i-th of the
// tasks that it had, in the order in which they were sent. It had begun so many
// of them. The last of these ran when the worker ended, so what the daemon says
// of the worker's end concerns that one; the answers of the others were lost.
func setbackAt(l *Lease, i, begun int) retry.Setback {
	switch {
	case i >= begun:
		return retry.NotBegun
	case i < begun-1:
		return retry.AnswerLost
	case l.Code == fault.OutOfMemory:
		return retry.MemoryRanOut
	case l.Code != "":
		return retry.WorkerEnded
	}
	return retry.WorkerDied
}

// crashFault is what a task fails with when its worker died and it may not run again.
func (c *Submitter) crashFault(t *Task, l *Lease, detail string) *fault.Error {
	if l.NodeLost {
		return fault.New(fault.NodeDied, "task %s is lost with its node %s, which is dead or cannot be reached: %s%s", t.Template.Name, c.fx.NodeName(l.Node), detail, afterTries(t))
	}
	how, said, _ := strings.Cut(detail, "\n")
	node := c.Node.String()
	if l.Node != 0 {
		node = c.fx.NodeName(l.Node)
	}
	f := fault.New(fault.WorkerCrashed, "the worker that ran %s died: %s, on node %s%s", t.Template.Name, how, node, afterTries(t))
	if said != "" {
		f.Message += "\n" + said
	}
	return f
}

// afterTries says how often the task ran, for the message of its failure.
func afterTries(t *Task) string {
	switch {
	case t.Template.MaxRetries == 0:
		return " (max_retries=0)"
	case t.Tries > 1:
		return fmt.Sprintf(" (tried %s, max_retries=%d)", times(int(t.Tries)), t.Template.MaxRetries)
	}
	return ""
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
