package client

import (
	"context"
	"time"
)

// flushOnExitTimeout is how long the last messages of this process may take to be sent.
const flushOnExitTimeout = time.Second

// FlushOnExit sends messages that wait to share a write with later ones: the
// program is about to end the process, so no later messages come.
func (c *Client) FlushOnExit() {
	deadline := time.Now().Add(flushOnExitTimeout)
	if !c.flushSockets(deadline) {
		return
	}
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	_ = c.daemon.Flush(ctx) // the process ends either way
}

// flushSockets sends what waits on the task sockets, until the deadline at most. False: the session has ended.
func (c *Client) flushSockets(deadline time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.Closed() {
		c.poller.FlushUntil(deadline)
	}
	return !c.Closed()
}
