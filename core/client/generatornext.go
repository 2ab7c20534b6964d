package client

import (
	"context"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wait"
)

// What a program sees of a generator that it called: one item after the other.

// StreamState says how far a generator is for who reads it.
type StreamState int

// The states of a generator.
const (
	StreamWaits  StreamState = iota // the next item has not come
	StreamItem                      // it has
	StreamFailed                    // no more items come, and the program does not know yet why
	StreamEnd
)

// streamOf returns a generator that the program reads, and its own object; mu held.
func (c *submitter) streamOf(gen ids.Object) (*stream, *refs.Object, error) {
	if c.closed {
		return nil, nil, c.why
	}
	s, o := c.streams[gen.Count()], c.table.Find(gen)
	if s == nil || o == nil || gen.Owner() != c.self {
		return nil, nil, fault.New(fault.BadRequest, "object %s is no generator that this process reads", gen)
	}
	return s, o, nil
}

// state says how far the generator, whose own object is o, is for the program.
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

// takeItem gives the program a reference to the next item of a generator, whose
// own object is o. If the generator has failed, the reference is to o, once.
// StreamWaits: the next item has not come, and there is no reference; mu held.
func (c *submitter) takeItem(s *stream, o *refs.Object) (id ids.Object, st StreamState) {
	switch st = s.state(o); st {
	case StreamFailed:
		s.told = o.State() != refs.Infeasible
		c.table.Ref(o)
		id = o.ID
	case StreamItem:
		x := c.place(s, s.taken)
		c.table.Ref(x)
		s.taken++
		c.table.Unpin(x)
		if s.task != nil {
			c.tellTaken(s, false)
		}
		id = x.ID
	}
	return id, st
}

// tellTaken tells the worker how many items the program has taken, if the worker counts them.
func (c *submitter) tellTaken(s *stream, now bool) {
	t := s.task
	f := &t.tmpl.Flow
	if t.on == nil || f.Limit == 0 && !f.Counted {
		return
	}
	n := s.taken
	if s.left {
		n = frame.All
	}
	o := t.on
	o.Queue(frame.AppendTaken(o.Buffer(), t.seq, n))
	// A worker that has all that it may send waits for this.
	if now || f.Counted || s.got-s.taken+1 >= f.Limit {
		o.Flush()
	}
	if o.Unsent() > 0 {
		o.SendSoon()
	}
}

// leaveStream notes that the program reads the generator no more; mu held. If it
// never took an item, it wanted what the generator does and not what it yields, so
// the generator runs to its end.
func (c *submitter) leaveStream(id ids.Object) {
	s := c.streams[id.Count()]
	if s == nil {
		return
	}
	delete(c.streams, s.gen)
	s.goOn = s.got == 0
	c.dropItems(s)
	if s.task != nil {
		c.tellTaken(s, true)
	}
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
		if id, st := c.takeItem(s, o); st != StreamWaits || first && timeout == 0 {
			return id, st, nil
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
	st := s.state(o)
	if st == StreamItem || st == StreamWaits {
		o = c.place(s, s.taken)
	}
	if st == StreamWaits {
		c.poller.Arm()
	}
	c.table.Ref(o)
	return o.ID, nil
}
