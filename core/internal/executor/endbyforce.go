package executor

import (
	"context"
	"time"

	"github.com/eagleray/eagleray/core/internal/execute"
	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// lastMessagesFor is how long a process that ends by force may take to write its last messages.
const lastMessagesFor = 100 * time.Millisecond

// EndByForce ends this process because the call was cancelled with force. What the call has
// submitted hears of its own cancellation first, since its owner is about to be gone: children is closed then,
// or nil. The call may be answered meanwhile. Then its caller has given the lease back, or is about to, and the
// process may run another task or have become an actor: it must live on.
func (x *Executor) EndByForce(k *execute.Call, children <-chan struct{}) {
	if children != nil {
		limit := time.NewTimer(submit.CancelPatience)
		defer limit.Stop()
		select {
		case <-children:
		case <-limit.C:
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.exec.Runs(k) {
		return
	}
	// The lock is held until the process is gone. An answer that left after the daemon was told would give the
	// lease back, and the daemon would have a worker that ends in the hands of somebody else.
	x.sayLastWords(wire.ExitForced)
	x.die()
}

// sayLastWords sends the answers of the calls that have ended, and tells the daemon that this process ends; mu held.
func (x *Executor) sayLastWords(reason string) {
	ctx, cancel := context.WithTimeout(context.Background(), lastMessagesFor)
	defer cancel()
	deadline, _ := ctx.Deadline()
	x.objects.PushDaemon(wire.TWorkerExit, wire.WorkerExit{Reason: reason})
	x.exec.FlushUntil(deadline)
	x.objects.FlushDaemon(ctx)
}
