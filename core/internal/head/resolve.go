package head

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

func resolved(a *record.Actor) record.Resolution {
	switch a.State {
	case record.ActorDead, record.ActorRestarting:
		return record.Resolution{State: a.State, Actor: *a.Brief(), Message: a.Cause.String()}
	}
	return record.Resolution{State: record.ActorAlive, Actor: *a.Brief()}
}

func unschedulable(a *record.Actor, message string) record.Resolution {
	return record.Resolution{State: record.ActorUnschedulable, Actor: *a.Brief(), Message: message}
}

// waiter waits for an actor's incarnation.
type waiter struct {
	after    uint64
	ended    bool // it waits for the end of incarnation after, not for the start of a later one
	done     func(record.Resolution, error)
	answered atomic.Bool // the waiter has its answer, or was cancelled
	expects  bool        // the actor was unknown when the waiter came, and has been since
	name     string      // in traces
}

func (w *waiter) tell(r record.Resolution, err error) {
	if w.answered.CompareAndSwap(false, true) {
		w.done(r, err)
	}
}

// Resolve calls done once: when the actor is alive with an incarnation after
// the given one (0: any), when it is dead, or when no node can ever take it. The error is
// record.ErrNotFound, when the actor is still unknown after the patience: a handle can be
// sent from process to process faster than the creation of its actor reaches the head. If the answer is known now, done is called before Resolve returns, else on the
// head's goroutine: it must not block. Cancel ends the wait; it reports false
// when done was called or is about to be.
func (h *Head) Resolve(id ids.Actor, after uint64, patience time.Duration, done func(record.Resolution, error)) (cancel func() bool) {
	return h.await(id, patience, &waiter{after: after, done: done})
}

// Ended calls done once, as Resolve does: when the incarnation has ended, with what became of
// the actor then. For an incarnation that the actor never reaches, that is the actor's death.
func (h *Head) Ended(id ids.Actor, incarnation uint64, done func(record.Resolution, error)) (cancel func() bool) {
	return h.await(id, 0, &waiter{after: incarnation, ended: true, done: done})
}

func (h *Head) await(id ids.Actor, patience time.Duration, w *waiter) (cancel func() bool) {
	now, err := h.enlist(id, w, patience > 0)
	switch {
	case err != nil && patience > 0:
		time.AfterFunc(patience, func() { h.giveUp(id, w, err) })
	case err != nil:
		w.tell(record.Resolution{}, err)
	}
	for _, act := range now {
		act.tell.tell(act.as, nil)
	}
	return func() bool {
		if !w.answered.CompareAndSwap(false, true) {
			return false
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.tracker.forget(id, w)
		return true
	}
}

// enlist gives a waiter to the tracker. It returns the answers that are known at once. The error says that the
// actor is unknown; then the tracker has the waiter only if it is to wait for the actor's registration.
func (h *Head) enlist(id ids.Actor, w *waiter, expect bool) ([]action, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a, ok := h.state.Actor(id)
	if !ok {
		if expect {
			h.tracker.expect(id, w)
		}
		return nil, fmt.Errorf("actor %s: %w", id, record.ErrNotFound)
	}
	return h.tracker.wait(&a, w), nil
}

// giveUp answers a waiter whose actor is still unknown.
func (h *Head) giveUp(id ids.Actor, w *waiter, why error) {
	unknown := false
	h.locked(func() { unknown = h.tracker.giveUp(id, w) })
	if unknown {
		w.tell(record.Resolution{}, why)
	}
}

// ResolveWait is Resolve for a goroutine that can wait.
func (h *Head) ResolveWait(ctx context.Context, id ids.Actor, after uint64) (record.Resolution, error) {
	type answer struct {
		record.Resolution
		err error
	}
	got := make(chan answer, 1)
	cancel := h.Resolve(id, after, 0, func(r record.Resolution, err error) { got <- answer{r, err} })
	select {
	case a := <-got:
		return a.Resolution, a.err
	case <-ctx.Done():
		cancel()
		return record.Resolution{}, fmt.Errorf("resolve actor %s: %w", id, ctx.Err())
	case <-h.ctx.Done():
		cancel()
		return record.Resolution{}, fmt.Errorf("resolve actor %s: %w", id, record.ErrClosed)
	}
}
