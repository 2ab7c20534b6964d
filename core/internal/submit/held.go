package submit

import (
	"fmt"

	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// What waits in an actor with concurrency groups is bounded for each group, see
// package execute. The actor tells all its callers when a group has its fill, and
// when half of that is done; meanwhile callers keep that group's calls in their queue.

// hearHeld: the actor takes no more calls of a group for now, or takes them again; mu held.
func (o *Channel) hearHeld(r *wire.Reader) error {
	group, held, err := frame.ReadHold(r)
	if err != nil {
		return err
	}
	if o.Actor == nil {
		return fmt.Errorf("%w: a leased worker holds a concurrency group", wire.ErrBadFrame)
	}
	o.Actor.grouped = true
	if !held {
		delete(o.filled, group)
		o.c.pumpActor(o.Actor)
		return nil
	}
	if len(o.filled) > frame.MaxGroups+1 {
		return fmt.Errorf("%w: more than %d concurrency groups are held", wire.ErrBadFrame, frame.MaxGroups+1)
	}
	o.fill(group)
	o.Actor.held = nil
	return nil
}

// fill notes that a concurrency group of the actor takes no more calls for now.
func (o *Channel) fill(group string) {
	if o.filled == nil {
		o.filled = map[string]bool{}
	}
	o.filled[group] = true
}

// maxClog is how much may wait for an actor's socket before its calls stay in the queue.
const maxClog = 1 << 20
