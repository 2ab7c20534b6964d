package access

import (
	"context"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/generators"
	"github.com/eagleray/eagleray/core/internal/wait"
)

// How a program reads a generator that it called, and waits for the next item.

// Stream returns the state of a generator that this process reads.
func (a *Objects) Stream(gen ids.Object) (generators.State, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.submit.Generators.State(gen)
}

// NextItem waits for a generator's next item and gives the program a reference
// to it, with StreamItem. If the generator has failed, it gives a reference to the
// generator itself, once, with StreamFailed. StreamWaits means that the timeout has passed;
// a negative timeout waits for ever.
func (a *Objects) NextItem(gen ids.Object, timeout time.Duration) (id ids.Object, st generators.State, err error) {
	return a.nextItem(context.Background(), gen, timeout)
}

// nextItem is NextItem; a context ends the wait, too.
func (a *Objects) nextItem(ctx context.Context, gen ids.Object, timeout time.Duration) (id ids.Object, st generators.State, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var deadline time.Time
	for first := true; ; first = false {
		if id, st, err := a.submit.TakeItem(gen); err != nil || st != generators.Waits || first && timeout == 0 {
			return id, st, err
		}
		if first {
			deadline = DeadlineOf(timeout)
		}
		w := wait.New()
		w.For(1, 1, true)
		x, _, err := a.submit.Generators.Next(gen)
		if err != nil {
			return id, 0, err
		}
		a.table.Watch(x, w)
		stop := a.endsWith(ctx, w)
		a.AwaitBlocked(w, deadline)
		stop()
		if !w.Over() || w.GaveUp() {
			a.table.Unwatch(x, w)
			if a.closed {
				return id, 0, a.why
			}
			return id, generators.Waits, nil
		}
	}
}

// PeekItem gives the program a reference that becomes ready when NextItem
// would not wait.
func (a *Objects) PeekItem(gen ids.Object) (ids.Object, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	o, waits, err := a.submit.Generators.Next(gen)
	if err != nil {
		return ids.Object{}, err
	}
	if waits {
		a.poller.Arm()
	}
	a.table.Ref(o)
	return o.ID, nil
}

// AheadItem gives the program a reference to the item that is n items after the next one. Nothing is taken.
func (a *Objects) AheadItem(gen ids.Object, n int) (ids.Object, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	id, waits, err := a.submit.Generators.Ahead(gen, n)
	if waits {
		a.poller.Arm()
	}
	return id, err
}
