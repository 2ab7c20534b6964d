package head

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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

// restart ends the record's incarnation: the next follows if that is allowed.
func (h *Head) restart(ctx context.Context, a *record.Actor, c record.Cause, allowed bool) error {
	if allowed && a.MayRestart() {
		return h.state.ActorRestarting(ctx, a.ID, a.Incarnation, c)
	}
	return h.state.ActorDead(ctx, a.ID, a.Incarnation, c, h.nowMs())
}

// PutCode brings a part of a large class, from the node of the actor's creator, for an actor that is about to be
// registered, and returns how many bytes of the class are there.
func (h *Head) PutCode(ctx context.Context, node ids.Node, a ids.Actor, object ids.Object, size, offset uint64, data []byte) (uint64, error) {
	return h.state.PutCode(ctx, node, a, object, size, offset, data)
}

// Code returns what the state keeps of a class from an offset on, up to the end
// of a part, and the size of the whole.
func (h *Head) Code(object ids.Object, offset uint64) (data []byte, size uint64, ok bool) {
	return h.state.Code(object, offset)
}

// Actor returns an actor's record, of a dead one too.
func (h *Head) Actor(id ids.Actor) (record.Actor, error) {
	a, ok := h.state.Actor(id)
	if !ok {
		return a, fmt.Errorf("actor %s: %w", id, record.ErrNotFound)
	}
	return a, nil
}

// ListActors returns the actors that match (nil: all), in order of
// registration. Match must not call the head.
func (h *Head) ListActors(match func(*record.Actor) bool) []record.Actor {
	return h.state.ListActors(match)
}

// GetNamed returns the live actor with the name.
func (h *Head) GetNamed(namespace, name string) (record.Actor, error) {
	a, ok := h.state.ActorNamed(namespace, name)
	if !ok {
		return a, fmt.Errorf("actor %q in namespace %q: %w", name, namespace, record.ErrNotFound)
	}
	return a, nil
}

// ListNamed returns the live named actors of the namespace, or of all, in
// order of namespace and name.
func (h *Head) ListNamed(namespace string, all bool) []record.Named {
	var names []record.Named
	for _, a := range h.state.ListActors(func(a *record.Actor) bool {
		return a.Name != "" && a.Live() && (all || a.Namespace == namespace)
	}) {
		names = append(names, record.Named{Namespace: a.Namespace, Name: a.Name, Actor: a.ID})
	}
	slices.SortFunc(names, func(a, b record.Named) int {
		if c := strings.Compare(a.Namespace, b.Namespace); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return names
}

// RegisterNode adds a node or renews its record. record.ErrNodeDead when it
// was declared dead: it has to come back under a new id.
func (h *Head) RegisterNode(ctx context.Context, n record.Node) error {
	if n.StartedMs == 0 {
		n.StartedMs = h.nowMs()
	}
	return h.state.RegisterNode(ctx, n)
}

// Nodes returns all nodes, dead ones too, in order of registration.
func (h *Head) Nodes() []record.Node { return h.state.ListNodes() }

// StartJob gives the job the next number.
func (h *Head) StartJob(ctx context.Context, j record.Job) (ids.Job, error) {
	if j.StartedMs == 0 {
		j.StartedMs = h.nowMs()
	}
	return h.state.StartJob(ctx, j)
}

// Job returns a job's record.
func (h *Head) Job(id ids.Job) (record.Job, error) {
	j, ok := h.state.Job(id)
	if !ok {
		return j, fmt.Errorf("job %s: %w", id, record.ErrNotFound)
	}
	return j, nil
}

// Jobs returns all jobs in order of their numbers.
func (h *Head) Jobs() []record.Job { return h.state.ListJobs() }

// Sizes returns how many entries the tables have, by name. Records of what has ended, which
// are kept up to a number, count too.
func (h *Head) Sizes() map[string]int {
	waiters, tracked := 0, 0
	h.locked(func() {
		for _, e := range h.tracker.actors {
			waiters += len(e.waiters)
		}
		tracked = len(h.tracker.actors)
	})
	return map[string]int{
		"tracked": tracked, "waiters": waiters,
		"actors": len(h.state.ListActors(nil)), "jobs": len(h.state.ListJobs()), "nodes": len(h.state.ListNodes()),
	}
}
