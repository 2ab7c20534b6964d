package head

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// The states of a Resolution: the state of an actor as its callers see it.
const (
	Alive         = "ALIVE"
	Restarting    = "RESTARTING" // Ended only
	Dead          = "DEAD"
	Unschedulable = "UNSCHEDULABLE"
)

// Resolution is what became of an actor.
type Resolution struct {
	State   string       // Alive, Dead, Unschedulable, Restarting
	Actor   record.Actor // without Spec and Meta
	Message string       // why it is dead, restarts or is unschedulable, in words
}

// String is short, for logs and traces.
func (r Resolution) String() string {
	switch r.State {
	case Restarting:
		return fmt.Sprintf("RESTARTING incarnation %d after %s", r.Actor.Incarnation, r.Message)
	case Alive:
		return fmt.Sprintf("ALIVE incarnation %d at %s", r.Actor.Incarnation, r.Actor.Address)
	}
	return r.State + " " + r.Message
}

func resolved(a *record.Actor) Resolution {
	switch a.State {
	case record.ActorDead:
		return Resolution{State: Dead, Actor: *a.Brief(), Message: a.Cause.String()}
	case record.ActorRestarting:
		return Resolution{State: Restarting, Actor: *a.Brief(), Message: a.Cause.String()}
	}
	return Resolution{State: Alive, Actor: *a.Brief()}
}

func unschedulable(a *record.Actor, message string) Resolution {
	return Resolution{State: Unschedulable, Actor: *a.Brief(), Message: message}
}

// waiter waits for an actor's incarnation.
type waiter struct {
	after    uint64
	ended    bool // it waits for the end of incarnation after, not for the start of a later one
	done     func(Resolution)
	answered atomic.Bool // the waiter has its answer, or was cancelled
	name     string      // in traces
}

func (w *waiter) tell(r Resolution) {
	if w.answered.CompareAndSwap(false, true) {
		w.done(r)
	}
}

// Resolve calls done once: when the actor is alive with an incarnation after
// the given one (0: any), when it is dead, or when no node can ever take it.
// If that is known now, done is called before Resolve returns, else on the
// head's goroutine: it must not block. Cancel ends the wait; it reports false
// when done was called or is about to be. The error is record.ErrNotFound.
func (h *Head) Resolve(id ids.Actor, after uint64, done func(Resolution)) (cancel func() bool, err error) {
	return h.await(id, &waiter{after: after, done: done})
}

// Ended calls done once, as Resolve does: when the incarnation has ended, with what became of
// the actor then. For an incarnation that the actor never reaches, that is the actor's death.
func (h *Head) Ended(id ids.Actor, incarnation uint64, done func(Resolution)) (cancel func() bool, err error) {
	return h.await(id, &waiter{after: incarnation, ended: true, done: done})
}

func (h *Head) await(id ids.Actor, w *waiter) (cancel func() bool, err error) {
	now, err := h.enlist(id, w)
	if err != nil {
		return nil, err
	}
	for _, act := range now {
		act.tell.tell(act.as)
	}
	return func() bool {
		if !w.answered.CompareAndSwap(false, true) {
			return false
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.tracker.forget(id, w)
		return true
	}, nil
}

// enlist gives a waiter to the tracker. It returns the answers that are known at once.
func (h *Head) enlist(id ids.Actor, w *waiter) ([]action, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a, ok := h.state.Actor(id)
	if !ok {
		return nil, fmt.Errorf("actor %s: %w", id, record.ErrNotFound)
	}
	return h.tracker.wait(&a, w), nil
}

// ResolveWait is Resolve for a goroutine that can wait.
func (h *Head) ResolveWait(ctx context.Context, id ids.Actor, after uint64) (Resolution, error) {
	got := make(chan Resolution, 1)
	cancel, err := h.Resolve(id, after, func(r Resolution) { got <- r })
	if err != nil {
		return Resolution{}, err
	}
	select {
	case r := <-got:
		return r, nil
	case <-ctx.Done():
		cancel()
		return Resolution{}, fmt.Errorf("resolve actor %s: %w", id, ctx.Err())
	case <-h.ctx.Done():
		cancel()
		return Resolution{}, fmt.Errorf("resolve actor %s: %w", id, record.ErrClosed)
	}
}
