package client

import (
	"context"
	"time"

	"github.com/eagleray/eagleray/core/wire"
)

// saidBy bounds how long a worker waits until it has told the daemon that it
// got its actor. A daemon that reads nothing for so long has other troubles.
const saidBy = time.Second

// sayBegun tells the daemon that this worker has its actor, before anything of
// the actor runs: what was written is read even if the process dies at once.
// A start that no worker heard of costs the actor no life.
func (c *Client) sayBegun() {
	c.push(wire.TActorBegun, nil)
	ctx, cancel := context.WithTimeout(context.Background(), saidBy)
	defer cancel()
	_ = c.daemon.Flush(ctx)
}
