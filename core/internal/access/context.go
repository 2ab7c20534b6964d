package access

import (
	"context"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/generators"
)

// Waits that a context ends, for programs in Go.

// GetContext is Get until a context ends, whose error it returns then.
func (a *Objects) GetContext(ctx context.Context, id ids.Object) (*Found, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f, err := a.get(ctx, id, time.Time{})
		if f != nil || err != nil {
			return f, err
		}
	}
}

// WaitContext is Wait until a context ends, whose error it returns then.
func (a *Objects) WaitContext(ctx context.Context, list []ids.Object, need int, mark func(i int, ready bool)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, done, err := a.wait(ctx, list, need, -1, WaitHere, mark)
	if err == nil && !done {
		err = ctx.Err()
	}
	return err
}

// NextItemContext is NextItem until a context ends, whose error it returns then.
func (a *Objects) NextItemContext(ctx context.Context, gen ids.Object) (ids.Object, generators.State, error) {
	for {
		if err := ctx.Err(); err != nil {
			return ids.Object{}, 0, err
		}
		id, st, err := a.nextItem(ctx, gen, -1)
		if err != nil || st != generators.Waits {
			return id, st, err
		}
	}
}
