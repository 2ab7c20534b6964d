package executor

import (
	"time"

	"github.com/eagleray/eagleray/core/internal/access"
	"github.com/eagleray/eagleray/core/internal/wait"
)

// LastCalls ends the call of the token and lets no other call begin. It waits until those that run have
// ended, at most for the timeout (below 0: for ever), and reports whether they have. The program then ends the process.
func (x *Executor) LastCalls(token uint64, timeout time.Duration) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.exec
	e.Leave(token)
	deadline := access.DeadlineOf(timeout)
	for !x.objects.Closed() {
		w := wait.New()
		if !e.AwaitLast(w) {
			break
		}
		x.poller.SendAll()
		x.poller.Await(w, deadline)
		if !w.Over() {
			e.UnawaitLast(w)
			return false
		}
	}
	return true
}
