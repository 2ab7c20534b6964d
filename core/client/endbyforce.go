package client

import (
	"context"
	"syscall"
	"time"

	"github.com/eagleray/eagleray/core/wire"
)

// lastWords is how long a process that ends by force may take to write its last messages.
const lastWords = 100 * time.Millisecond

// endByForce ends this process because the call of the token was cancelled with force. What the call has
// submitted hears of its own cancellation first, since its owner is about to be gone: children is closed then,
// or nil. The call may be answered meanwhile. Then its caller has given the lease back, or is about to, and the
// process may run another task or have become an actor: it must live on.
func (e *executor) endByForce(token uint64, k *call, children <-chan struct{}) {
	if children != nil {
		limit := time.NewTimer(cancelPatience)
		defer limit.Stop()
		select {
		case <-children:
		case <-limit.C:
		}
	}
	e.c.mu.Lock()
	defer e.c.mu.Unlock()
	if e.calls[token] != k {
		return
	}
	// The lock is held until the process is gone. An answer that left after the daemon was told would give the
	// lease back, and the daemon would have a worker that ends in the hands of somebody else.
	e.sayLastWords(wire.ExitForced)
	e.die()
}

// sayLastWords sends the answers of the calls that have ended, and tells the daemon that this process ends; mu held.
func (e *executor) sayLastWords(reason string) {
	c := e.c
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	deadline, _ := ctx.Deadline()
	c.push(wire.TWorkerExit, wire.WorkerExit{Reason: reason})
	for in := range e.conns {
		in.FlushUntil(deadline)
	}
	_ = c.daemon.Flush(ctx)
}

// killProcess ends this process at once.
func killProcess() { _ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL) }
