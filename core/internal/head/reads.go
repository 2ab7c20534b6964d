package head

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// Reads are answered from this member's memory when it shows everything that was committed before they were asked (State.Fresh). A
// head without others knows that it does. With several heads reads that are asked at the same time share one commit.

// Actor returns an actor's record, of a dead one too.
func (h *Head) Actor(ctx context.Context, id ids.Actor) (record.Actor, error) {
	if err := h.state.Fresh(ctx); err != nil {
		return record.Actor{}, err
	}
	a, ok := h.state.Actor(id)
	if !ok {
		return a, fmt.Errorf("actor %s: %w", id, record.ErrNotFound)
	}
	return h.state.WholeActor(ctx, a)
}

// ActorsOf returns the actors that match, in order of registration and without Spec and Meta.
func (h *Head) ActorsOf(ctx context.Context, f record.ActorFilter) ([]record.Actor, error) {
	if err := h.state.Fresh(ctx); err != nil {
		return nil, err
	}
	return h.state.ActorsOf(f), nil
}

// GetNamed returns the live actor with the name.
func (h *Head) GetNamed(ctx context.Context, namespace, name string) (record.Actor, error) {
	if err := h.state.Fresh(ctx); err != nil {
		return record.Actor{}, err
	}
	a, ok := h.state.ActorNamed(namespace, name)
	if !ok {
		return a, fmt.Errorf("actor %q in namespace %q: %w", name, namespace, record.ErrNotFound)
	}
	return h.state.WholeActor(ctx, a)
}

// ListNamed returns the live named actors of the namespace, or of all, in
// order of namespace and name.
func (h *Head) ListNamed(ctx context.Context, namespace string, all bool) ([]record.Named, error) {
	if err := h.state.Fresh(ctx); err != nil {
		return nil, err
	}
	var names []record.Named
	for _, a := range h.state.ActorsOf(record.ActorFilter{Named: true, Live: true}) {
		if all || a.Namespace == namespace {
			names = append(names, record.Named{Namespace: a.Namespace, Name: a.Name, Actor: a.ID})
		}
	}
	slices.SortFunc(names, func(a, b record.Named) int {
		if c := strings.Compare(a.Namespace, b.Namespace); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return names, nil
}

// Nodes returns all nodes, dead ones too, in order of registration.
func (h *Head) Nodes(ctx context.Context) ([]record.Node, error) {
	if err := h.state.Fresh(ctx); err != nil {
		return nil, err
	}
	return h.state.ListNodes(), nil
}

// Job returns a job's record.
func (h *Head) Job(ctx context.Context, id ids.Job) (record.Job, error) {
	if err := h.state.Fresh(ctx); err != nil {
		return record.Job{}, err
	}
	j, ok := h.state.Job(id)
	if !ok {
		return j, fmt.Errorf("job %s: %w", id, record.ErrNotFound)
	}
	return j, nil
}

// Jobs returns all jobs in order of their numbers.
func (h *Head) Jobs(ctx context.Context) ([]record.Job, error) {
	if err := h.state.Fresh(ctx); err != nil {
		return nil, err
	}
	return h.state.ListJobs(), nil
}

// GetKV returns a value, and whether the key is there.
func (h *Head) GetKV(ctx context.Context, namespace, key string) (value []byte, found bool, err error) {
	if err := h.state.Fresh(ctx); err != nil {
		return nil, false, err
	}
	return h.state.GetKV(ctx, namespace, key)
}

// KVKeys returns the keys that begin with prefix, in order.
func (h *Head) KVKeys(ctx context.Context, namespace, prefix string) ([]string, error) {
	if err := h.state.Fresh(ctx); err != nil {
		return nil, err
	}
	return h.state.KVKeys(namespace, prefix), nil
}

// Code returns what the state keeps of a class from an offset on, up to the end of a part, and
// the size of the whole. A class that is not there whole is not found.
func (h *Head) Code(ctx context.Context, object ids.Object, offset uint64) (data []byte, size uint64, found bool, err error) {
	if err := h.state.Fresh(ctx); err != nil {
		return nil, 0, false, err
	}
	return h.state.Code(ctx, object, offset)
}

// Sizes returns how many entries the tables have, by name. Records of what has ended, which
// are kept up to a number, count too.
func (h *Head) Sizes(context.Context) (map[string]int, error) {
	waiters, tracked := 0, 0
	h.locked(func() {
		for _, e := range h.tracker.actors {
			waiters += len(e.waiters)
		}
		tracked = len(h.tracker.actors)
	})
	return map[string]int{
		"tracked": tracked, "waiters": waiters,
		"actors": len(h.state.ActorsOf(record.ActorFilter{})), "jobs": len(h.state.ListJobs()), "nodes": len(h.state.ListNodes()),
	}, nil
}
