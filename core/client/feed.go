package client

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/execute"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/planted"
	"github.com/eagleray/eagleray/core/wait"
)

// FeedState says whether a generator may yield more.
type FeedState = execute.FeedState

// What a generator is to do.
const (
	FeedOpen      = execute.FeedOpen
	FeedFull      = execute.FeedFull // wait: FeedRoom
	FeedClosed    = execute.FeedClosed
	FeedCancelled = execute.FeedCancelled
)

// LimitFeeds bounds how many items this actor's generators may be ahead of their callers, together.
func (c *Client) LimitFeeds(n uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exec.LimitFeeds(n)
}

// FeedItem sends what a generator has yielded.
func (c *Client) FeedItem(token uint64, v *Value, flags int) (FeedState, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.exec
	k, err := e.Generator(token)
	if err != nil {
		return 0, err
	}
	y, err := e.Yield(k)
	if err != nil {
		return 0, err
	}
	if y.Wanted && !planted.Strikes(planted.LostItem) {
		if err := c.sendItem(k, y.Index, v, flags); err != nil {
			e.Unyield(k, y)
			return 0, err
		}
	}
	return e.FeedState(k), nil
}

// sendItem writes an item's frame; mu held, released while a large value goes to the arena.
func (c *Client) sendItem(k *execute.Call, i uint64, v *Value, flags int) error {
	body, nested, err := c.appendResult(nil, nil, k, int(i)+1, v, true)
	if err != nil {
		return err
	}
	err = checkAnswer(k, body)
	if err != nil || k.Unread() { // the caller may have left while a large value went to the arena
		c.unpinAll(nested)
		c.carryOut()
		return err
	}
	if nested != nil {
		var at ids.Task
		id := k.ReturnID(int(i) + 1)
		copy(at[:], id[:ids.TaskSize])
		c.hold(k.Caller.Owner, at, nested)
	}
	c.exec.SendItem(k, i, flags, body, frame.IsStored(body))
	return nil
}

// FeedRoom waits until a generator may go on. FeedFull: the timeout passed; negative waits for ever.
func (c *Client) FeedRoom(token uint64, timeout time.Duration) (FeedState, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.exec
	deadline := deadlineOf(timeout)
	for {
		k, err := e.Generator(token)
		if err != nil {
			return 0, err
		}
		st := e.FeedState(k)
		if st != FeedFull {
			return st, nil
		}
		w := wait.New()
		e.AwaitRoom(k, w)
		c.awaitBlocked(w, deadline)
		if !w.Over() {
			e.UnawaitRoom(k)
			return e.FeedState(k), nil
		}
	}
}

// FeedOwner returns the socket of the process that owns a generator's items.
func (c *Client) FeedOwner(token uint64) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, err := c.exec.Generator(token)
	if err != nil {
		return "", err
	}
	return k.Caller.Addr, nil
}

// FeedRaises returns which item the exception becomes with which a generator ends now.
func (c *Client) FeedRaises(token uint64) (item uint64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, err := c.exec.Generator(token)
	if err != nil {
		return 0, err
	}
	return c.exec.Raises(k), nil
}

// FeedWatch returns at once. When it says FeedFull, AsyncDrain gives notify
// when it is worth to look again.
func (c *Client) FeedWatch(token, notify uint64) (FeedState, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.exec
	k, err := e.Generator(token)
	if err != nil {
		return 0, err
	}
	if st := e.FeedState(k); st != FeedFull {
		return st, nil
	}
	e.AwaitRoom(k, wait.Calling(func() {
		c.async.ended = append(c.async.ended, notify)
		one := [8]byte{1}
		_, _ = unix.Write(c.async.fd, one[:])
	}))
	c.poller.Arm()
	return FeedFull, nil
}
