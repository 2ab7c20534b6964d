package client

import (
	"fmt"
	"strings"

	"github.com/eagleray/eagleray/core/fault"
)

// lostWithWorker carries out what is decided about a task that was at a worker
// which has ended. It returns true if the task is to go to the front of its
// class's queue now; false if it runs again later, or has failed; mu held.
func (c *submitter) lostWithWorker(t *task, l *lease, detail string, s setback) bool {
	if s == memoryRanOut && !t.canceled {
		c.outOfMemory(t, detail, l.held)
		return false
	}
	switch v := c.retry(t, s); v.refusal {
	case permitted:
		wait := v.wait()
		if wait > 0 {
			c.again(t, wait, fmt.Sprintf("its worker died, %s so far", times(int(t.crashes))))
		}
		return wait == 0
	case cancelled:
		c.failTask(t, cancelFault(t))
	case forbidden:
		c.failTask(t, fault.New(l.code, "%s", detail))
	default:
		c.failTask(t, c.crashFault(t, detail))
	}
	return false
}

// setbackAt says what the end of the lease's worker means for the i-th of the
// tasks that it had, in the order in which they were sent. It had begun so many
// of them. The last of these ran when the worker ended, so what the daemon says
// of the worker's end concerns that one; the answers of the others were lost.
func (l *lease) setbackAt(i, begun int) setback {
	switch {
	case i >= begun:
		return notBegun
	case i < begun-1:
		return answerLost
	case l.code == fault.OutOfMemory:
		return memoryRanOut
	case l.code != "":
		return workerEnded
	}
	return workerDied
}

// crashFault is what a task fails with when its worker died and it may not run again.
func (c *submitter) crashFault(t *task, detail string) *fault.Error {
	how, said, _ := strings.Cut(detail, "\n")
	f := fault.New(fault.WorkerCrashed, "the worker that ran %s died: %s, on node %s%s", t.tmpl.Name, how, c.info.Node, afterTries(t))
	if said != "" {
		f.Message += "\n" + said
	}
	return f
}

// afterTries says how often the task ran, for the message of its failure.
func afterTries(t *task) string {
	switch {
	case t.tmpl.MaxRetries == 0:
		return " (max_retries=0)"
	case t.tries > 1:
		return fmt.Sprintf(" (tried %s, max_retries=%d)", times(int(t.tries)), t.tmpl.MaxRetries)
	}
	return ""
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
