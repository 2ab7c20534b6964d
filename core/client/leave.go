package client

import (
	"time"

	"github.com/eagleray/eagleray/core/wait"
)

// LastCalls ends the call of the token and lets no other call begin. It waits until those that run have
// ended, at most for the timeout (below 0: for ever), and reports whether they have. The program then ends the process.
func (c *Client) LastCalls(token uint64, timeout time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.exec
	e.Leave(token)
	deadline := deadlineOf(timeout)
	for !c.closed {
		w := wait.New()
		if !e.AwaitLast(w) {
			break
		}
		c.poller.SendAll()
		c.poller.Await(w, deadline)
		if !w.Over() {
			e.UnawaitLast(w)
			return false
		}
	}
	return true
}
