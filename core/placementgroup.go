package core

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/strategy"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// Bundle is what a placement group sets aside on one node: amounts of "CPU", "GPU", "memory" in bytes, and of other resources by their names.
type Bundle map[string]float64

// GroupOptions are those of a placement group.
type GroupOptions struct {
	Strategy  string // PACK (on few nodes, the default), SPREAD (on many), STRICT_PACK (on one) or STRICT_SPREAD (each on another)
	Name      string // by which GetPlacementGroup finds it
	Namespace string // of Name; "": the session's
	Detached  bool   // it lives on when this program has ended, until Remove
}

// PlacementGroup is a set of resources on nodes that are set aside together, for functions and actors with the strategy InGroup.
type PlacementGroup struct {
	s       *Session
	id      ids.Group
	bundles int
}

// AnyBundle, as the bundle of InGroup, is any one of the group that has room.
const AnyBundle = strategy.AnyBundle

// NewPlacementGroup asks for a placement group. It does not wait for nodes: Wait does.
func (s *Session) NewPlacementGroup(ctx context.Context, bundles []Bundle, o GroupOptions) (*PlacementGroup, error) {
	if len(bundles) == 0 {
		return nil, invalid("a placement group has at least one bundle, and none was given")
	}
	g := &PlacementGroup{s: s, id: ids.NewGroup(s.c.Info().Job), bundles: len(bundles)}
	q := wire.GroupCreate{GroupID: g.id[:], Name: o.Name, Namespace: o.Namespace, Strategy: o.Strategy, Detached: o.Detached}
	switch o.Strategy {
	case "":
		q.Strategy = "PACK"
	case "PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD":
	default:
		return nil, invalid("the strategy %q of a placement group is none of PACK, SPREAD, STRICT_PACK and STRICT_SPREAD", o.Strategy)
	}
	for i, b := range bundles {
		amounts, err := b.amounts()
		if err != nil {
			return nil, invalid("bundle %d: %v", i, err)
		}
		if len(amounts) == 0 {
			return nil, invalid("bundle %d asks for nothing: give it an amount above 0", i)
		}
		q.Bundles = append(q.Bundles, wire.GroupBundle{Resources: amounts})
	}
	if err := s.c.Ask(ctx, wire.TGroupCreate, q, nil); err != nil {
		return nil, fmt.Errorf("create a placement group: %w", err)
	}
	return g, nil
}

func (b Bundle) amounts() (map[string]int64, error) {
	c := Call{NumGPUs: b["GPU"], Memory: int64(b["memory"]), GPUMemory: int64(b[resource.GPUMemory]), Resources: map[string]float64{}}
	for name, n := range b {
		switch name {
		case "CPU", "GPU", "memory", resource.GPUMemory:
		default:
			c.Resources[name] = n
		}
	}
	return c.amounts(b["CPU"])
}

// GetPlacementGroup returns the living placement group of a name. Namespace "" is the session's.
func (s *Session) GetPlacementGroup(ctx context.Context, name, namespace string) (*PlacementGroup, error) {
	if name == "" {
		return nil, invalid("the name of a placement group is empty")
	}
	if namespace == "" {
		namespace = s.Namespace()
	}
	var found *record.Group
	err := s.c.Ask(ctx, wire.TGroupFind, wire.GroupFind{Name: name, Namespace: namespace}, &found)
	if err == nil && found == nil {
		err = fault.New(fault.NotFound, "there is none of that name")
	}
	if err != nil {
		return nil, fmt.Errorf("look up placement group %q in namespace %q: %w", name, namespace, err)
	}
	return &PlacementGroup{s: s, id: found.ID, bundles: len(found.Bundles)}, nil
}

// ID returns the group's id in hex.
func (g *PlacementGroup) ID() string { return hex.EncodeToString(g.id[:]) }

// Wait waits until each bundle has a node. It returns ErrUnschedulable when no nodes can have the group, and ErrNotFound when the group was removed.
func (g *PlacementGroup) Wait(ctx context.Context) error {
	q := wire.GroupWait{GroupID: g.id[:], TimeoutMs: -1}
	if end, ok := ctx.Deadline(); ok {
		q.TimeoutMs = max(0, time.Until(end).Milliseconds())
	}
	var state wire.GroupState
	if err := g.s.c.Ask(ctx, wire.TGroupWait, q, &state); err != nil {
		return fmt.Errorf("wait for placement group %s: %w", g.ID(), err)
	}
	switch record.GroupState(state.State) {
	case record.GroupCreated:
		return nil
	case record.GroupInfeasible:
		return fault.New(fault.TaskUnschedulable, "placement group %s: %s", g.ID(), state.Message)
	case record.GroupRemoved:
		return fault.New(fault.NotFound, "placement group %s was removed: %s", g.ID(), state.Message)
	}
	<-ctx.Done() // the time for the answer has passed a moment before
	return fmt.Errorf("wait for placement group %s, which is %s: %w", g.ID(), state.State, ctx.Err())
}

// Remove ends the group: what runs in it ends, and its resources are free for others.
func (g *PlacementGroup) Remove(ctx context.Context) error {
	if err := g.s.c.Ask(ctx, wire.TGroupRemove, wire.GroupRef{GroupID: g.id[:]}, nil); err != nil {
		return fmt.Errorf("remove placement group %s: %w", g.ID(), err)
	}
	return nil
}

// InGroup uses what a bundle of the group has set aside, or any of its bundles. With capture the functions and actors that are called from
// there run in the group, too, unless their Strategy says otherwise.
func InGroup(g *PlacementGroup, bundle int, capture bool) Strategy {
	return placed(func() (string, error) {
		if g == nil {
			return "", invalid("Strategy: InGroup: the placement group is nil")
		}
		if bundle != AnyBundle && (bundle < 0 || bundle >= g.bundles) {
			return "", invalid("Strategy: InGroup: placement group %s has the bundles 0 to %d, and no bundle %d; AnyBundle is any", g.ID(), g.bundles-1, bundle)
		}
		return strategy.Strategy{Kind: strategy.Group, Group: g.id, Bundle: bundle, Capture: capture}.String(), nil
	})
}
