package client

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/execute"
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/localstore"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wait"
)

// find returns the object of an id that the program holds.
func (c *Client) find(id ids.Object) (*refs.Object, error) {
	if c.closed {
		return nil, c.why
	}
	o := c.table.Find(id)
	switch {
	case o != nil:
	case id.Owner() == c.self:
		return nil, fault.New(fault.ObjectLost, "object %s was freed: its last reference is gone", id)
	default:
		return nil, fault.New(fault.BadRequest, "object %s is not known here: it belongs to another session", id)
	}
	switch {
	case (o.State() == refs.Pending || o.State() == refs.Infeasible) && !o.Asked() && !o.Owned():
		c.table.Ask(o, false) // of a infeasible object the owner may know better by now
	case o.State() == refs.Evicted:
		c.verifyCopy(o)
	}
	return o, nil
}

// Get waits for an object. It returns nil, nil when the timeout passed;
// negative waits for ever. The program must hold the reference meanwhile.
func (c *Client) Get(id ids.Object, timeout time.Duration) (*Found, error) {
	return c.get(context.Background(), id, deadlineOf(timeout))
}

// get is Get; a context ends the wait, too.
func (c *Client) get(ctx context.Context, id ids.Object, deadline time.Time) (*Found, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, err := c.find(id)
	if err != nil {
		return nil, err
	}
	for misses := 0; ; misses++ {
		if o.State() == refs.Pending {
			w := wait.New()
			w.For(1, 1, true)
			c.table.Watch(o, w)
			stop := c.endsWith(ctx, w)
			c.awaitBlocked(w, deadline)
			stop()
			if !w.Over() || w.GaveUp() {
				c.table.Unwatch(o, w)
				if c.closed {
					return nil, c.why
				}
				return nil, nil
			}
		}
		if ctx.Done() != nil && localstore.MustFetch(o) {
			err = c.near(ctx, o)
		}
		var f Found
		if err == nil {
			f, err = c.fetch(o, deadline)
		}
		switch {
		case err == nil:
			c.noteLook(o, f.Envelope)
			return &f, nil
		case err == localstore.ErrNoAnswer:
			return nil, nil
		case !isLost(err) || misses == maxMisses:
			return nil, err
		}
		err = nil
		c.missed(o)
	}
}

// TryGet returns a value that is at hand: without asking or waiting for
// anybody. A Found without envelope means that it is not.
func (c *Client) TryGet(id ids.Object) (Found, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return Found{}, c.why
	}
	o := c.table.Find(id)
	if o == nil || !o.State().Ready() || o.State() == refs.Stored && o.Copy() == nil {
		return Found{}, nil
	}
	f, err := c.fetch(o, time.Time{})
	c.noteLook(o, f.Envelope)
	return f, err
}

// Ready reports whether a get would return at once.
func (c *Client) Ready(id ids.Object) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, err := c.find(id)
	return err == nil && o.State().Ready(), err
}

// WaitMode says when Wait returns.
type WaitMode int

// Wait returns when enough are ready; WaitAll when all are, or one failed;
// WaitHere when enough are ready and the store has not lost them.
const (
	WaitSome WaitMode = iota
	WaitAll
	WaitHere
)

// Wait waits until need of the objects are ready, nothing else can become
// ready, or the timeout passed. mark is called for each object in order with
// whether it is ready. It returns how many can never become ready, and
// whether it ended before the timeout.
func (c *Client) Wait(list []ids.Object, need int, timeout time.Duration, mode WaitMode, mark func(i int, ready bool)) (infeasible int, done bool, err error) {
	return c.wait(context.Background(), list, need, timeout, mode, mark)
}

// wait is Wait; a context ends it, too.
func (c *Client) wait(ctx context.Context, list []ids.Object, need int, timeout time.Duration, mode WaitMode, mark func(i int, ready bool)) (infeasible int, done bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := make([]*ids.Object, len(list))
	for i := range list {
		at[i] = &list[i]
	}
	objs, err := c.lookUp(at)
	if err != nil {
		return 0, false, err
	}
	defer c.scratched(objs)
	if done, err = c.waitMany(ctx, objs, need, timeout, mode); err != nil {
		return 0, false, err
	}
	for i, o := range objs {
		mark(i, o.State().Ready())
		if o.IsError() {
			o.MarkSeen()
		}
		if o.State() == refs.Infeasible {
			infeasible++
			o.MarkSeen()
		}
	}
	if mode == WaitAll && done {
		c.pinBatch(objs, deadlineOf(timeout))
	}
	return infeasible, done, nil
}

// waitMany waits as Wait says, and reports whether it ended before the timeout; mu held, released meanwhile.
func (c *Client) waitMany(ctx context.Context, objs []*refs.Object, need int, timeout time.Duration, mode WaitMode) (done bool, err error) {
	deadline := deadlineOf(timeout)
	for misses := 0; ; misses++ {
		if done, err = c.waitFew(ctx, objs, need, deadline, mode == WaitAll); err != nil {
			return false, err
		}
		if mode != WaitHere || !done || misses == maxMisses || !c.anyLost(objs, need, deadline) {
			break
		}
	}
	if c.closed {
		return false, c.why
	}
	return done, nil
}

// waitFew waits for objects to be ready, and reports whether it ended before the deadline; mu held, released meanwhile.
func (c *Client) waitFew(ctx context.Context, objs []*refs.Object, need int, deadline time.Time, failFast bool) (done bool, err error) {
	missing, open, stop := need, 0, false
	for _, o := range objs {
		switch {
		case o.State().Ready():
			missing--
			stop = stop || failFast && o.IsError()
		case o.State() == refs.Infeasible:
			stop = stop || failFast
		default:
			open++
		}
	}
	if missing <= 0 || open <= 0 || stop {
		return true, nil
	}
	w := wait.New().For(missing, open, failFast)
	c.table.WatchAll(w, objs)
	unlisten := c.endsWith(ctx, w)
	err = c.awaitLooking(w, deadline)
	unlisten()
	c.table.UnwatchAll(w)
	if c.closed {
		return false, c.why
	}
	return w.Over() && !w.GaveUp(), err
}

// awaitLooking is awaitBlocked for waits that cost much to begin: it looks after
// the program's signals on the way. Interrupted: the handler of one has raised.
func (c *Client) awaitLooking(w *wait.Wait, deadline time.Time) error {
	for {
		next := deadline
		if c.opts.Signals != nil {
			if look := time.Now().Add(signalsEvery); next.IsZero() || look.Before(next) {
				next = look
			}
		}
		c.awaitBlocked(w, next)
		if w.Over() || c.closed || !deadline.IsZero() && !time.Now().Before(deadline) {
			return nil
		}
		if c.opts.Signals == nil {
			continue
		}
		c.mu.Unlock()
		raised := c.opts.Signals()
		c.mu.Lock()
		if raised {
			return fault.New(fault.Interrupted, "a signal ended the wait")
		}
	}
}

// awaitBlocked waits like await. In a worker whose task waits longer than a
// moment it gives the task's CPUs and the tasks queued behind it back.
func (c *Client) awaitBlocked(w *wait.Wait, deadline time.Time) {
	if c.exec == nil || c.exec.Running() == 0 {
		c.poller.Await(w, deadline)
		return
	}
	if now := time.Now(); !c.exec.LendsAtOnce(now) {
		first := now.Add(execute.LendAfter)
		if !deadline.IsZero() && deadline.Before(first) {
			first = deadline
		}
		c.poller.Await(w, first)
		if w.Over() || c.closed || !deadline.IsZero() && !time.Now().Before(deadline) {
			return
		}
	}
	c.exec.Block()
	c.poller.Await(w, deadline)
	c.exec.Unblock()
}

// asyncQueue holds the tokens of asynchronous waits that have ended.
type asyncQueue struct {
	fd    int
	ended []uint64
}

// AsyncFD is readable when AsyncDrain has something.
func (c *Client) AsyncFD() int { return c.async.fd }

// AsyncWatch asks for the token when the object is ready; true: it already is.
func (c *Client) AsyncWatch(id ids.Object, token uint64) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, err := c.find(id)
	if err != nil {
		return false, err
	}
	switch {
	case localstore.MustFetch(o):
		go c.fetchForLoop(id, token, 0)
		return false, nil
	case o.State() != refs.Pending:
		return true, nil
	}
	c.watchForLoop(o, token, 0)
	return false, nil
}

// AsyncDrain returns the tokens whose objects became ready.
func (c *Client) AsyncDrain() []uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b [8]byte
	_, _ = unix.Read(c.async.fd, b[:])
	t := c.async.ended
	c.async.ended = nil
	return t
}
