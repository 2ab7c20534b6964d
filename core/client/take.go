package client

import (
	"context"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wait"
)

// What a program sees of a generator that it called: item after item.

// StreamState says how far a generator is for who reads it.
type StreamState int

// The states of a generator.
const (
	StreamWaits  StreamState = iota // the next item has not come
	StreamItem                      // it has
	StreamFailed                    // no more items come, and the program does not know yet why
	StreamEnd
)

func (c *Client) streamOf(gen ids.Object) (*stream, *refs.Object, error) {
	if c.closed {
		return nil, nil, c.why
	}
	s, o := c.streams[gen.Count()], c.table.Find(gen)
	if s == nil || o == nil || gen.Owner() != c.self {
		return nil, nil, fault.New(fault.BadRequest, "object %s is no generator that this process reads", gen)
	}
	return s, o, nil
}

// Stream says how far a generator is.
func (c *Client) Stream(gen ids.Object) (StreamState, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, o, err := c.streamOf(gen)
	if err != nil {
		return 0, err
	}
	return s.state(o), nil
}

func (s *stream) state(o *refs.Object) StreamState {
	switch {
	case s.taken < s.got:
		return StreamItem
	case s.told:
		return StreamEnd
	case o.State() == refs.Infeasible:
		return StreamFailed
	case s.task != nil:
		return StreamWaits
	case o.IsError():
		return StreamFailed
	}
	return StreamEnd
}

// NextItem waits for a generator's next item and gives the program a reference
// to it: StreamItem; of one that has failed a reference to itself, once:
// StreamFailed. StreamWaits: the timeout passed; negative waits for ever.
func (c *Client) NextItem(gen ids.Object, timeout time.Duration) (id ids.Object, st StreamState, err error) {
	return c.nextItem(context.Background(), gen, timeout)
}

// nextItem is NextItem; a context ends the wait, too.
func (c *Client) nextItem(ctx context.Context, gen ids.Object, timeout time.Duration) (id ids.Object, st StreamState, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var deadline time.Time
	for first := true; ; first = false {
		s, o, err := c.streamOf(gen)
		if err != nil {
			return id, 0, err
		}
		switch st := s.state(o); st {
		case StreamEnd:
			return id, st, nil
		case StreamFailed:
			s.told = o.State() != refs.Infeasible
			c.table.Ref(o)
			return gen, st, nil
		case StreamItem:
			x := c.place(s, s.taken)
			c.table.Ref(x)
			s.taken++
			c.table.Unpin(x)
			if s.task != nil {
				c.tellTaken(s, false)
			}
			return x.ID, st, nil
		}
		if first && timeout == 0 {
			return id, StreamWaits, nil
		}
		if first {
			deadline = deadlineOf(timeout)
		}
		w := wait.New()
		w.For(1, 1, true)
		x := c.place(s, s.taken)
		c.table.Watch(x, w)
		stop := c.endsWith(ctx, w)
		c.awaitBlocked(w, deadline)
		stop()
		if !w.Over() || w.GaveUp() {
			c.table.Unwatch(x, w)
			if c.closed {
				return id, 0, c.why
			}
			return id, StreamWaits, nil
		}
	}
}

// PeekItem gives the program a reference that becomes ready when NextItem
// would not wait.
func (c *Client) PeekItem(gen ids.Object) (ids.Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, o, err := c.streamOf(gen)
	if err != nil {
		return ids.Object{}, err
	}
	switch s.state(o) {
	case StreamItem:
		o = c.place(s, s.taken)
	case StreamWaits:
		o = c.place(s, s.taken)
		c.poller.Arm()
	}
	c.table.Ref(o)
	return o.ID, nil
}
