package record

import (
	"fmt"
	"slices"

	"github.com/eagleray/eagleray/core/ids"
)

// GroupState is where a placement group is in its life.
type GroupState string

// PENDING → CREATED ⇄ RESCHEDULING, and from each of them REMOVED, which is final.
const (
	GroupPending      GroupState = "PENDING"      // nodes for its bundles are being found
	GroupCreated      GroupState = "CREATED"      // each bundle has a node
	GroupRescheduling GroupState = "RESCHEDULING" // nodes of some bundles have died, and others are being found for these
	GroupRemoved      GroupState = "REMOVED"      // for good

	// GroupInfeasible is in no record. It is what a waiter is told of a group that waits for nodes which the cluster does not have.
	GroupInfeasible GroupState = "INFEASIBLE"
)

// The bounds of a placement group.
const (
	MaxGroupBundles = 10_000
	MaxGroupName    = 1000 // bytes
)

// Group is everything the cluster knows about one placement group: parts of nodes, its bundles, that are set aside together.
type Group struct {
	//lint:ignore U1000 msgpack reads the tag
	_msgpack struct{} `msgpack:",omitempty"`

	// Given when it is made.
	ID        ids.Group `msgpack:"id"`
	Job       ids.Job   `msgpack:"job"`
	Name      string    `msgpack:"name"` // "" for a group without a name
	Namespace string    `msgpack:"ns"`
	Owner     ids.Owner `msgpack:"owner"`    // the process that has made it
	Actor     ids.Actor `msgpack:"actor"`    // with which it ends unless it is detached: the actor that has made it; zero: none
	Detached  bool      `msgpack:"detached"` // outlives its creator and its job
	Lasting   bool      `msgpack:"lasting"`  // its creator works for a detached actor, so it goes on when the driver of its job leaves
	Waits     bool      `msgpack:"waits"`    // for nodes that can take it, however long that takes
	Strategy  string    `msgpack:"strategy"` // as package packing reads it
	Bundles   []Bundle  `msgpack:"bundles"`
	CreatedMs int64     `msgpack:"created"`

	// Kept by the state. Ordinal is the log index at which it was made; lists are in its order.
	Ordinal  uint64     `msgpack:"ord"`
	State    GroupState `msgpack:"state"`
	Epoch    uint64     `msgpack:"epoch"` // counts the times at which nodes were to be found, from 1
	Nodes    []ids.Node `msgpack:"nodes"` // of each bundle, zero for one that has none; empty while none has one
	PlacedMs int64      `msgpack:"placed"`
	EndedMs  int64      `msgpack:"ended"`
	Why      string     `msgpack:"why"` // it was removed

	// Infeasible is what the head that answers knows: why the nodes can never have the bundles. Empty: they can. It is not part of the state.
	Infeasible string `msgpack:"infeasible"`
}

// Bundle is what is set aside on one node.
type Bundle struct {
	//lint:ignore U1000 msgpack reads the tag
	_msgpack struct{} `msgpack:",omitempty"`

	Resources Resources         `msgpack:"res"`
	Labels    map[string]string `msgpack:"labels"` // that its node has to have, as package labels reads them
}

// Live reports whether the group was not removed.
func (g *Group) Live() bool { return g.State != GroupRemoved }

// Waiting reports whether nodes are to be found for some of its bundles.
func (g *Group) Waiting() bool { return g.State == GroupPending || g.State == GroupRescheduling }

// NodeOf returns the node of a bundle, zero if it has none.
func (g *Group) NodeOf(bundle int) ids.Node {
	if bundle < 0 || bundle >= len(g.Nodes) {
		return ids.Node{}
	}
	return g.Nodes[bundle]
}

// On reports whether the group has a bundle on a node.
func (g *Group) On(node ids.Node) bool { return slices.Contains(g.Nodes, node) }

// String names the group in messages.
func (g *Group) String() string {
	if g.Name != "" {
		return fmt.Sprintf("placement group %q %s", g.Name, g.ID)
	}
	return "placement group " + g.ID.String()
}

// Check says what is wrong with a group that is to be made.
func (g *Group) Check() error {
	switch {
	case g.ID == (ids.Group{}):
		return fmt.Errorf("the placement group has no id: %w", ErrInvalid)
	case len(g.Bundles) == 0 || len(g.Bundles) > MaxGroupBundles:
		return fmt.Errorf("%s has %d bundles, it must have 1 to %d: %w", g, len(g.Bundles), MaxGroupBundles, ErrInvalid)
	case len(g.Name) > MaxGroupName:
		return fmt.Errorf("the name of a placement group has %d bytes, at most %d are allowed: %w", len(g.Name), MaxGroupName, ErrInvalid)
	}
	for i := range g.Bundles {
		if err := g.Bundles[i].check(); err != nil {
			return fmt.Errorf("bundle %d of %s %w: %w", i, g, err, ErrInvalid)
		}
	}
	return nil
}

func (b *Bundle) check() error {
	some := false
	for name, n := range b.Resources {
		if n < 0 {
			return fmt.Errorf("asks for %d of %s", n, name)
		}
		some = some || n > 0
	}
	if !some {
		return fmt.Errorf("asks for nothing")
	}
	return nil
}
