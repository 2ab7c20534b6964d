package client

import (
	"context"
	"time"
)

// flushOnExitTimeout is how long what this process has said may take to leave it.
const flushOnExitTimeout = time.Second

// FlushOnExit sends what waits to share a write with what comes behind it: the
// program is about to end the process, and nothing comes.
func (c *Client) FlushOnExit() {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	deadline := time.Now().Add(flushOnExitTimeout)
	c.poller.FlushUntil(deadline)
	c.mu.Unlock()
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	_ = c.daemon.Flush(ctx) // the process ends either way
}
