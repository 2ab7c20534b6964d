package access

import (
	"context"
	"time"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// What the session asks the daemon.

// Err says why the session ended, nil while it lasts.
func (a *Objects) Err() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.why
}

// CallDaemon asks the daemon and waits for its answer. The mutex must not be held.
func (a *Objects) CallDaemon(t wire.Type, body, reply any) error {
	return a.Ask(context.Background(), t, body, reply)
}

// Ask asks the daemon, until a context ends. When the session has ended, the error says why. The mutex must not be held.
func (a *Objects) Ask(ctx context.Context, t wire.Type, body, reply any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := a.daemon.Call(ctx, t, body, reply)
	if err != nil {
		if why := a.Err(); why != nil {
			return why
		}
	}
	return err
}

// DeadlineOf returns when a timeout has passed, the zero time for none.
func DeadlineOf(timeout time.Duration) time.Time {
	if timeout < 0 {
		return time.Time{}
	}
	return time.Now().Add(timeout)
}

// PushDaemon tells the daemon something that has no answer. A broken connection ends the session elsewhere.
func (a *Objects) PushDaemon(t wire.Type, body any) { _ = a.daemon.Push(t, body) }

// FlushDaemon waits until the daemon's connection has taken what was pushed, or the context ends. Its callers end their process
// either way.
func (a *Objects) FlushDaemon(ctx context.Context) { _ = a.daemon.Flush(ctx) }
