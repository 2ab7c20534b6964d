package client

import (
	"fmt"

	"github.com/eagleray/eagleray/core/execute"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/wire"
)

// What waits in an actor with concurrency groups is bounded for each group, see
// package execute. The actor tells all its callers when a group has its fill, and
// when half of that is done; meanwhile callers keep that group's calls in their queue.

// hearHeld: the actor takes no more calls of a group for now, or takes them again; mu held.
func (o *outConn) hearHeld(r *wire.Reader) error {
	group, held, err := frame.ReadHold(r)
	if err != nil {
		return err
	}
	if o.actor == nil {
		return fmt.Errorf("%w: a leased worker holds a concurrency group", wire.ErrBadFrame)
	}
	o.actor.grouped = true
	if !held {
		delete(o.filled, group)
		o.c.pumpActor(o.actor)
		return nil
	}
	if len(o.filled) > execute.MaxGroups+1 {
		return fmt.Errorf("%w: more than %d concurrency groups are held", wire.ErrBadFrame, execute.MaxGroups+1)
	}
	if o.filled == nil {
		o.filled = map[string]bool{}
	}
	o.filled[group] = true
	o.actor.held = nil
	return nil
}

// clogged reports whether much that was sent to an actor with groups has not left this process yet: what is in the queue
// can still be held, what is in the socket cannot. Its sending goes on when the socket has taken it; mu held.
func (c *submitter) clogged(a *actor) bool {
	o := a.conn
	if !a.grouped || !o.Full() || o.Unsent() < maxClog {
		return false
	}
	o.WhenSent(func() {
		if a.conn == o {
			c.pumpActor(a)
		}
	})
	return true
}

// maxClog is how much may wait for an actor's socket before its calls stay in the queue.
const maxClog = 1 << 20
