package executor

import (
	"time"

	"github.com/eagleray/eagleray/core/internal/access"
	"github.com/eagleray/eagleray/core/internal/execute"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/planted"
	"github.com/eagleray/eagleray/core/internal/wait"
)

// LimitFeeds bounds how many items this actor's generators may be ahead of their callers, together.
func (x *Executor) LimitFeeds(n uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.exec.LimitFeeds(n)
}

// FeedItem sends what a generator has yielded.
func (x *Executor) FeedItem(token uint64, v *Value, flags int) (execute.FeedState, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.exec
	k, err := e.Generator(token)
	if err != nil {
		return 0, err
	}
	y, err := e.Yield(k)
	if err != nil {
		return 0, err
	}
	if y.Wanted && !planted.Strikes(planted.LostItem) {
		if err := x.SendItem(k, y.Index, v, flags); err != nil {
			e.Unyield(k, y)
			return 0, err
		}
	}
	s, _ := x.feedState(k)
	return s, nil
}

// SendItem writes an item's frame; mu held, released while a large value goes to the arena.
func (x *Executor) SendItem(k *execute.Call, i uint64, v *Value, flags int) error {
	body, nested, err := x.AppendResult(nil, nil, k, int(i)+1, v, true)
	if err != nil {
		return err
	}
	err = checkAnswer(k, body)
	if err != nil || k.Unread() { // the caller may have left while a large value went to the arena
		x.table.UnpinAll(nested)
		x.table.CarryOut()
		return err
	}
	held := uint64(0)
	if nested != nil {
		held = x.table.HoldResult(k.Caller.Socket(), nested)
	}
	x.exec.SendItem(k, i, flags, body, frame.IsStored(body), held)
	return nil
}

// FeedRoom waits until a generator may go on. FeedFull: the timeout passed; negative waits for ever.
func (x *Executor) FeedRoom(token uint64, timeout time.Duration) (execute.FeedState, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.exec
	deadline := access.DeadlineOf(timeout)
	for {
		k, err := e.Generator(token)
		if err != nil {
			return 0, err
		}
		st, paused := x.feedState(k)
		if st != execute.FeedFull {
			return st, nil
		}
		if !x.awaitFeed(k, paused, deadline) {
			st, _ = x.feedState(k)
			return st, nil
		}
	}
}

// FeedOwner returns the socket of the process that owns a generator's items.
func (x *Executor) FeedOwner(token uint64) (string, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	k, err := x.exec.Generator(token)
	if err != nil {
		return "", err
	}
	return k.Caller.Addr, nil
}

// FeedRaises returns which item the exception becomes with which a generator ends now.
func (x *Executor) FeedRaises(token uint64) (item uint64, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	k, err := x.exec.Generator(token)
	if err != nil {
		return 0, err
	}
	return x.exec.Raises(k), nil
}

// FeedWatch returns at once. When it says FeedFull, AsyncDrain gives notify
// when it is worth to look again.
func (x *Executor) FeedWatch(token, notify uint64) (execute.FeedState, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.exec
	k, err := e.Generator(token)
	if err != nil {
		return 0, err
	}
	switch st, paused := x.feedState(k); {
	case st != execute.FeedFull:
		return st, nil
	case paused:
		(*effects)(x).AfterFunc(time.Until(x.pauseUntil(time.Time{})), func() { x.objects.Ring(notify) })
	default:
		e.AwaitRoom(k, wait.Calling(func() { x.objects.Ring(notify) }))
	}
	x.poller.Arm()
	return execute.FeedFull, nil
}
