package client

import (
	"context"
	"time"

	"github.com/eagleray/eagleray/core/execute"
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/localstore"
	"github.com/eagleray/eagleray/core/refs"
)

// Waits for the daemon's answers about stored objects: localstore says what to wait
// for, and the session releases its mutex meanwhile.

// lookFor is how long the daemon's answer is waited for at least: a get with a short
// timeout shall find what is in memory.
const lookFor = 200 * time.Millisecond

// patience is how long a caller waits for a batch reply, given its deadline.
func patience(deadline time.Time) time.Duration {
	if deadline.IsZero() {
		return lookFor
	}
	return max(lookFor, time.Until(deadline))
}

// pause waits until done or stop is closed, or until a time; a nil channel and a zero
// time do not end the wait. It reports whether done was closed. Mu held on entry and
// exit, released while it waits.
func (c *Client) pause(done, stop <-chan struct{}, until time.Time) bool {
	var limit <-chan time.Time
	if !until.IsZero() {
		t := time.NewTimer(time.Until(until))
		defer t.Stop()
		limit = t.C
	}
	c.mu.Unlock()
	defer c.mu.Lock()
	select {
	case <-done:
		return true
	case <-stop:
	case <-limit:
	}
	return false
}

// pin maps an object of the store and holds it; mu as in pause. ErrNoAnswer: the
// deadline passed, zero: there is none.
func (c *Client) pin(id ids.Object, deadline time.Time) (*localstore.View, error) {
	v, p := c.local.Pin(id)
	if v != nil {
		return v, nil
	}
	return c.awaitPlace(p, deadline)
}

// awaitPlace waits for the answer to a pinning, lookFor at least; mu as in pause.
func (c *Client) awaitPlace(p *localstore.Pinning, deadline time.Time) (*localstore.View, error) {
	if least := time.Now().Add(lookFor); !deadline.IsZero() && deadline.Before(least) {
		deadline = least
	}
	c.pause(p.Done(), nil, deadline)
	return c.local.Take(p)
}

// pinStored pins the stored copy of an object for as long as the table has it, and
// gives the caller a hold of its own; mu as in pause. A copy that was freed is not
// pinned for the table: it goes when nobody looks at it any more.
func (c *Client) pinStored(o *refs.Object, deadline time.Time) (*localstore.View, error) {
	if v := localstore.Held(o); v != nil {
		return v, nil
	}
	c.table.PinHere(o) // the object must not go while we ask
	v, p := c.local.PinNext(o)
	var err error
	if v == nil {
		v, err = c.awaitPlace(p, deadline)
	}
	if err == nil {
		c.local.KeepFor(o, v)
	}
	c.table.Unpin(o)
	c.carryOut()
	return v, err
}

// near has the table hold a view of a stored object, unless there is one already, or
// gives up when the context ends; mu as in pause.
func (c *Client) near(ctx context.Context, o *refs.Object) error {
	if c.local.Has(o.ID) {
		return nil
	}
	c.table.PinHere(o)
	p := c.local.Ask(o.ID)
	c.pause(p.Done(), ctx.Done(), time.Time{})
	v, err := c.local.Take(p)
	switch {
	case err == nil: // perhaps as the context ended
		c.local.KeepFor(o, v)
		c.local.Unhold(v)
	case err == localstore.ErrNoAnswer:
		err = ctx.Err()
	}
	c.table.Unpin(o)
	c.carryOut()
	return err
}

// pinArguments has all stored arguments of a call brought to memory at the same
// time; the caller lets go of them when it has opened them, which tells what
// went wrong. Mu as in pause.
func (c *Client) pinArguments(k *execute.Call) (held []*localstore.View) {
	if len(k.Deps) == 0 {
		return nil
	}
	var asked []*localstore.Pinning
	ask := func(p *frame.Place) {
		if p.Envelope == nil && p.Size > 0 && !c.local.Has(p.ID) {
			asked = append(asked, c.local.Ask(p.ID))
		}
	}
	ask(&k.Args)
	for i := range k.Deps {
		ask(&k.Deps[i])
	}
	if len(asked) > 0 {
		c.poller.SendAll() // answers that wait to share a write do not wait for the store
	}
	for _, p := range asked {
		if v, err := c.awaitPlace(p, time.Time{}); err == nil {
			held = append(held, v)
		}
	}
	return held
}

// pinBatch pins what it can of the ready objects of a list by one question, and tells
// the store that the program takes them next; mu as in pause.
func (c *Client) pinBatch(objs []*refs.Object, deadline time.Time) {
	if asked := c.local.PinBatch(objs); len(asked) > 0 {
		until := time.Now().Add(patience(deadline))
		for _, b := range asked {
			if !c.pause(b.Done(), nil, until) {
				break // they come all the same
			}
		}
	}
	c.local.Expect(objs)
}

// unpinUnused serves TObjLetGo: somebody needs the room.
func (c *Client) unpinUnused() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.takeDrops()
	c.local.UnpinUnused()
}

// freedElsewhere serves TObjFreed: the owners let go of these values.
func (c *Client) freedElsewhere(list [][]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.takeDrops() // the program may have let go of one just now
	for _, b := range list {
		if id, err := ids.ParseObject(b); err == nil {
			c.local.ValueFreed(id)
		}
	}
}

// isLost reports whether err says that the store has no copy.
func isLost(err error) bool { return err != nil && fault.CodeOf(err) == fault.ObjectLost }
