package linkmsg

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// The requests about placement groups, with the bodies of question and answer.
const (
	OpGroup       Op = "group"        // GroupRef → record.Group
	OpGroupNamed  Op = "group_named"  // Key → record.Group
	OpGroups      Op = "groups"       // nil → Groups
	OpAwaitGroup  Op = "await_group"  // AwaitGroup → GroupFound, when there is something to say
	OpCreateGroup Op = "create_group" // record.Group → nil
	OpRemoveGroup Op = "remove_group" // GroupRef → nil
)

// The orders and reports about bundles, with their bodies.
const (
	PrepareBundles  Kind = "prepare_bundles"  // order, Bundles
	OpenBundles     Kind = "open_bundles"     // order, GroupRef
	UndoBundles     Kind = "undo_bundles"     // order, GroupRef: what was set aside by the order with the ticket, and is not open
	DropBundles     Kind = "drop_bundles"     // order, GroupRef: all that the node has of the group
	BundlesPrepared Kind = "bundles_prepared" // report, Prepared
	BundlesKept     Kind = "bundles_kept"     // report, KeptBundles: what the node has, and the head is another process than before
)

// GroupRef names a placement group, in an order or a report as of an epoch.
type GroupRef struct {
	ID     ids.Group `msgpack:"id"`
	Epoch  uint64    `msgpack:"epoch"`
	Ticket uint64    `msgpack:"ticket"`
}

// KeptBundles are bundles that a node has.
type KeptBundles struct {
	List []KeptBundle `msgpack:"list"`
}

// KeptBundle is what a node has of a group from one order.
type KeptBundle struct {
	Group GroupRef `msgpack:"group"`
	Index int      `msgpack:"index"` // of one of the bundles that the order was for
	Open  bool     `msgpack:"open"`
}

// Groups are records of placement groups, in the order in which they were made.
type Groups struct {
	List []record.Group `msgpack:"list"`
}

// AwaitGroup asks to be told when a group has its nodes, is removed, or can never have nodes.
type AwaitGroup struct {
	ID         ids.Group         `msgpack:"id"`
	Seen       record.GroupState `msgpack:"seen"`     // the state that is known; empty: the group is waited for
	PatienceMs int64             `msgpack:"patience"` // while the group is unknown
}

// GroupFound is a group, and why it can never have nodes; empty: it can.
type GroupFound struct {
	Group      record.Group `msgpack:"group"`
	Infeasible string       `msgpack:"infeasible"`
}

// Bundles are bundles of a group that a node is to set aside, all or none. It answers with a report BundlesPrepared.
type Bundles struct {
	Group GroupRef           `msgpack:"group"`
	Job   ids.Job            `msgpack:"job"`
	Name  string             `msgpack:"name"` // of the group, in messages
	Index []int              `msgpack:"index"`
	Needs []map[string]int64 `msgpack:"needs"`
	ForMs int64              `msgpack:"for"` // how long they may wait there for what they need
}

// Check returns an error if the bundles are such as no head orders.
func (b *Bundles) Check() error {
	if len(b.Index) == 0 || len(b.Index) > record.MaxGroupBundles || len(b.Needs) != len(b.Index) || b.ForMs < 0 {
		return fault.New(fault.BadRequest, "%d bundles with %d needs", len(b.Index), len(b.Needs))
	}
	for i, need := range b.Needs {
		if b.Index[i] < 0 || len(need) > maxNames {
			return fault.New(fault.BadRequest, "bundle %d needs %d resources, at most %d are allowed", b.Index[i], len(need), maxNames)
		}
		for name, n := range need {
			if n < 0 {
				return fault.New(fault.BadRequest, "bundle %d needs %d of resource %s", b.Index[i], n, name)
			}
		}
	}
	return nil
}

// Prepared says whether a node has set the bundles of an order aside.
type Prepared struct {
	Group GroupRef `msgpack:"group"`
	OK    bool     `msgpack:"ok"`
}
