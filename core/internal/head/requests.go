package head

import (
	"context"
	"errors"
	"fmt"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// CreateActor registers an actor, which is then placed. It returns when the actor
// is registered; Resolve reports when the actor is alive. The error is record.ErrExists if
// the id is known (a retry), *record.NameTakenError if a live actor has the name, and
// record.ErrJobEnded if the actor's job is over.
func (h *Head) CreateActor(ctx context.Context, a record.Actor) error {
	if a.CreatedMs == 0 {
		a.CreatedMs = h.nowMs()
	}
	return h.state.RegisterActor(ctx, a)
}

// KillActor ends an actor's worker at once. With noRestart, or when no restart
// is left, the actor is dead. For a dead actor it returns no error, and for an unknown actor
// record.ErrNotFound.
func (h *Head) KillActor(ctx context.Context, id ids.Actor, noRestart bool) error {
	a, ok := h.state.Actor(id)
	if !ok {
		return fmt.Errorf("kill actor %s: %w", id, record.ErrNotFound)
	}
	if !a.Live() {
		return nil
	}
	cause := record.Cause{Reason: record.Killed, Message: "it was killed by kill()"}
	if noRestart {
		return ignoreTooLate(h.state.ActorDead(ctx, id, 0, cause, h.nowMs()))
	}
	return ignoreTooLate(h.restart(ctx, &a, cause, true))
}

// ignoreTooLate returns nil for a change that came too late: the actor is already dead, or
// the incarnation has ended otherwise.
func ignoreTooLate(err error) error {
	if errors.Is(err, record.ErrDead) || errors.Is(err, record.ErrStale) {
		return nil
	}
	return err
}

// restart ends the record's incarnation: the next follows if that is allowed. A detached actor makes its groups anew in its next incarnation, so they end with
// this one; those of other actors go on until their job or the actor ends.
func (h *Head) restart(ctx context.Context, a *record.Actor, c record.Cause, allowed bool) error {
	n, known := h.state.Node(a.Node)
	moves := known && c.Reason == record.NodeDied && n.Preempted() && a.MayMove()
	if allowed && (moves || a.MayRestart()) {
		return h.restartWithoutGroups(ctx, a, c)
	}
	return h.state.ActorDead(ctx, a.ID, a.Incarnation, c, h.nowMs())
}

// PutCode brings a part of a large class, from the node of the actor's creator, for an actor that is about to be
// registered, and returns how many bytes of the class are there.
func (h *Head) PutCode(ctx context.Context, node ids.Node, a ids.Actor, object ids.Object, size, offset uint64, data []byte) (uint64, error) {
	return h.state.PutCode(ctx, node, a, object, size, offset, data)
}

// RegisterNode adds a node or renews its record. record.ErrNodeDead when it
// was declared dead: it has to come back under a new id.
func (h *Head) RegisterNode(ctx context.Context, n record.Node) error {
	if n.StartedMs == 0 {
		n.StartedMs = h.nowMs()
	}
	return h.state.RegisterNode(ctx, n)
}

// StartJob gives the job the next number.
func (h *Head) StartJob(ctx context.Context, j record.Job) (ids.Job, error) {
	if j.StartedMs == 0 {
		j.StartedMs = h.nowMs()
	}
	return h.state.StartJob(ctx, j)
}

// PutKV stores a value. It reports whether the key is new; without overwrite an existing value
// stays. What programs ask the autoscaler for (record.DemandNamespace) is checked.
func (h *Head) PutKV(ctx context.Context, namespace, key string, value []byte, overwrite bool) (added bool, err error) {
	if namespace == record.DemandNamespace {
		if key != record.DemandKey {
			return false, fmt.Errorf("put %.50q: %w: the namespace %s has one key, %s", key, record.ErrInvalid, record.DemandNamespace, record.DemandKey)
		}
		if _, err := record.ParseDemands(value); err != nil {
			return false, err
		}
	}
	return h.state.PutKV(ctx, namespace, key, value, overwrite)
}

// DelKV deletes a key, or all keys that begin with it, and returns how many.
func (h *Head) DelKV(ctx context.Context, namespace, key string, prefix bool) (int, error) {
	return h.state.DelKV(ctx, namespace, key, prefix)
}
