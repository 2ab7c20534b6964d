package client

import (
	"fmt"
	"strings"

	"github.com/eagleray/eagleray/core/fault"
)

// tryAgain decides what becomes of a task that a lost worker had begun: true
// when it goes back to its queue now, false when it waits, or has failed. The
// one that ran is the worker's end, perhaps; others had run, and their answers
// are lost; mu held.
func (c *Client) tryAgain(t *task, l *lease, detail string, ran bool) bool {
	if ran && l.code == fault.OutOfMemory {
		c.outOfMemory(t, detail, l.held)
		return false
	}
	if ran && l.code != "" {
		c.failTask(t, fault.New(l.code, "%s", detail))
		return false
	}
	t.triesAgain()
	if m := int32(t.tmpl.MaxRetries); m >= 0 && t.tries > m {
		c.failTask(t, c.crashFault(t, detail))
		return false
	}
	if !ran {
		return true
	}
	if d := t.crashed(c.retryDelay); d > 0 {
		c.again(t, d)
		return false
	}
	return true
}

// crashFault is what a task ends with that may not be tried again after a crash.
func (c *Client) crashFault(t *task, detail string) *fault.Error {
	how, said, _ := strings.Cut(detail, "\n")
	f := fault.New(fault.WorkerCrashed, "the worker that ran %s died: %s, on node %s%s", t.tmpl.Name, how, c.info.Node, afterTries(t))
	if said != "" {
		f.Message += "\n" + said
	}
	return f
}

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
