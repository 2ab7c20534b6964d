package client

import (
	"context"
	"syscall"
	"time"

	"github.com/eagleray/eagleray/core/execute"
	"github.com/eagleray/eagleray/core/wire"
)

// lastWords is how long a process that ends by force may take to write its last messages.
const lastWords = 100 * time.Millisecond

// endByForce ends this process because the call was cancelled with force. What the call has
// submitted hears of its own cancellation first, since its owner is about to be gone: children is closed then,
// or nil. The call may be answered meanwhile. Then its caller has given the lease back, or is about to, and the
// process may run another task or have become an actor: it must live on.
func (c *Client) endByForce(k *execute.Call, children <-chan struct{}) {
	if children != nil {
		limit := time.NewTimer(cancelPatience)
		defer limit.Stop()
		select {
		case <-children:
		case <-limit.C:
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.exec.Runs(k) {
		return
	}
	// The lock is held until the process is gone. An answer that left after the daemon was told would give the
	// lease back, and the daemon would have a worker that ends in the hands of somebody else.
	c.sayLastWords(wire.ExitForced)
	c.die()
}

// sayLastWords sends the answers of the calls that have ended, and tells the daemon that this process ends; mu held.
func (c *Client) sayLastWords(reason string) {
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	deadline, _ := ctx.Deadline()
	c.push(wire.TWorkerExit, wire.WorkerExit{Reason: reason})
	c.exec.FlushUntil(deadline)
	_ = c.daemon.Flush(ctx)
}

// killProcess ends this process at once.
func killProcess() { _ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL) }
