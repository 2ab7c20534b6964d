package client

import (
	"fmt"

	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/wire"
)

// What waits in an actor with concurrency groups is bounded for each group. The
// worker tells all its callers when a group has its fill, and when half of that
// is done; meanwhile callers keep that group's calls in their queue.

// queuedIn counts a call that has arrived for a lane; mu held.
func (e *executor) queuedIn(l *lane, k *call) {
	l.bytes += k.size
	if !l.held && l.bytes > e.backlog.share {
		l.held = true
		e.tellHeld(l)
	}
}

// unqueuedIn counts a call that waits no more; mu held.
func (e *executor) unqueuedIn(l *lane, k *call) {
	l.bytes -= k.size
	if l.held && l.bytes <= e.backlog.share/2 {
		l.held = false
		e.tellHeld(l)
	}
}

func (e *executor) tellHeld(l *lane) {
	for in := range e.conns {
		in.tellHeld(l)
	}
}

// greet tells a new caller that there are groups, and which of them have their fill; mu held.
func (e *executor) greet(in *inConn) {
	if e.backlog.share == 0 {
		return
	}
	in.tellHeld(&e.lane)
	for _, l := range e.groups {
		if l.held {
			in.tellHeld(l)
		}
	}
}

func (in *inConn) tellHeld(l *lane) {
	if in.lease || in.Closed() {
		return
	}
	in.Queue(frame.AppendHold(in.Buffer(), l.name, l.held))
	in.SendSoon()
}

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
	if len(o.filled) > maxGroups+1 {
		return fmt.Errorf("%w: more than %d concurrency groups are held", wire.ErrBadFrame, maxGroups+1)
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
