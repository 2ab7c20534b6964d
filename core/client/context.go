package client

import (
	"context"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wait"
	"github.com/eagleray/eagleray/core/wire"
)

// Waits that a context ends, for programs in Go.

// endsWith has the end of a context end a wait; mu held. The
// caller calls stop, with mu held, when the wait is over.
func (c *Client) endsWith(ctx context.Context, w *wait.Wait) (stop func() bool) {
	if ctx.Done() == nil {
		return func() bool { return true }
	}
	return context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !w.Over() {
			w.GiveUp()
			c.poller.Finish(w)
		}
	})
}

// GetContext is Get until a context ends, whose error it returns then.
func (c *Client) GetContext(ctx context.Context, id ids.Object) (*Found, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f, err := c.get(ctx, id, time.Time{})
		if f != nil || err != nil {
			return f, err
		}
	}
}

// WaitContext is Wait until a context ends, whose error it returns then.
func (c *Client) WaitContext(ctx context.Context, list []ids.Object, need int, mark func(i int, ready bool)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, done, err := c.wait(ctx, list, need, -1, WaitHere, mark)
	if err == nil && !done {
		err = ctx.Err()
	}
	return err
}

// NextItemContext is NextItem until a context ends, whose error it returns then.
func (c *Client) NextItemContext(ctx context.Context, gen ids.Object) (ids.Object, StreamState, error) {
	for {
		if err := ctx.Err(); err != nil {
			return ids.Object{}, 0, err
		}
		id, st, err := c.nextItem(ctx, gen, -1)
		if err != nil || st != StreamWaits {
			return id, st, err
		}
	}
}

// Ask asks the daemon, until a context ends.
func (c *Client) Ask(ctx context.Context, t wire.Type, body, reply any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := c.daemon.Call(ctx, t, body, reply)
	if err != nil {
		if why := c.Err(); why != nil {
			return why
		}
	}
	return err
}

// DefineEnv makes an environment known to the daemon, for functions and actors that name its key.
func (c *Client) DefineEnv(e wire.EnvSpec) error {
	if err := c.daemon.Push(wire.TEnvDefine, e); err != nil {
		if why := c.Err(); why != nil {
			return why
		}
		return err
	}
	return nil
}
