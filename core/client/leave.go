package client

import (
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/wait"
)

// An actor may end itself while other calls of it run: exit_actor, __ray_terminate__ and sys.exit(0) in one of its
// threads, coroutines or concurrency groups. As under Ray, what runs goes on to its end and is answered, and what has
// not begun never does: its callers hear of the actor's end. The caller of what ends the actor does not wait for the rest.

// LastCalls ends the call of the token and lets no other call begin. It waits until those that run have
// ended, at most for the timeout (below 0: for ever), and reports whether they have. The program then ends the process.
func (c *Client) LastCalls(token uint64, timeout time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.exec
	e.leaving = true
	if k := e.calls[token]; k != nil {
		if e.busy > 1 { // else the actor's end, which comes now, tells more
			e.answerFault(token, k, fault.New(fault.ActorDied, "The actor ended in %s, which has no result.", k.tmpl.Name))
		} else {
			e.finishCall(token, k)
		}
	}
	deadline := deadlineOf(timeout)
	for e.busy > 0 && e.ended == "" && !c.closed {
		w := wait.New()
		e.leavers = append(e.leavers, w)
		c.poller.SendAll()
		c.poller.Await(w, deadline)
		if !w.Over() {
			e.leavers = slices.DeleteFunc(e.leavers, func(x *wait.Wait) bool { return x == w })
			return false
		}
	}
	return true
}

// leaveIfLast wakes who waits for the last calls to end; mu held.
func (e *executor) leaveIfLast() {
	if len(e.leavers) == 0 || e.busy > 0 && e.ended == "" {
		return
	}
	list := e.leavers
	e.leavers = nil
	for _, w := range list {
		e.c.poller.Finish(w)
	}
}
