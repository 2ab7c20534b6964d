package place

import (
	"fmt"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/resource"
)

// Action is something that the head must send, in the order given.
type Action interface {
	// String is the action's line in a trace.
	String() string
}

type (
	// Offer says that a node has room for leases of a class.
	Offer struct {
		To     Key
		Node   Node
		N      int
		Choice int // of the want's needs
		Ticket Ticket
		Recall bool // there is no room: the node recalls leases of others that have more than the process's job there
	}
	// Infeasible says that no node of the cluster can ever give what a class needs. It is said once, until a node
	// can or the want ends. The want stays.
	Infeasible struct {
		To      Key
		Message string
		Busy    bool // it is for now only: the node that the class names has no room
	}
	// StartActor says that a node is to start an incarnation of an actor. The node answers with the ticket: it is settled when
	// the node has taken what the actor needs, or the node refuses.
	StartActor struct {
		ID     ActorID
		Node   Node
		Ticket Ticket
	}
	// WithdrawActor asks a node that was told to start an actor to refuse it, if the actor still waits there.
	WithdrawActor struct {
		ID     ActorID
		Node   Node
		Ticket Ticket
	}
	// ActorInfeasible says that no node of the cluster can ever take an actor.
	ActorInfeasible struct {
		ID      ActorID
		Message string
	}
	// ActorFeasible takes that back.
	ActorFeasible struct{ ID ActorID }
	// Prepare asks a node to set bundles of a placement group aside, all or none. It answers with the ticket.
	Prepare struct {
		Node Node
		Bundles
	}
	// Unprepare tells a node to drop what it has set aside for an attempt that has failed. It is no error if it has nothing.
	Unprepare struct {
		Node   Node
		Group  ids.Group
		Ticket Ticket // of the order to set them aside
	}
	// GroupPrepared says that all bundles of a group are set aside, and where.
	GroupPrepared struct {
		ID    ids.Group
		Epoch uint64
		Nodes []Node
	}
	// GroupInfeasible says that the nodes of the cluster can never have the bundles of a group.
	GroupInfeasible struct {
		ID      ids.Group
		Message string
	}
	// GroupFeasible takes that back.
	GroupFeasible struct{ ID ids.Group }
)

func (a Offer) String() string {
	s := fmt.Sprintf("offer %d of node %d to %s, ticket %d", a.N, a.Node, a.To, a.Ticket)
	if a.Choice > 0 {
		s += fmt.Sprintf(" (alternative %d)", a.Choice)
	}
	if a.Recall {
		s += ", to be recalled"
	}
	return s
}

func (a StartActor) String() string {
	return fmt.Sprintf("node %d starts %s, ticket %d", a.Node, a.ID, a.Ticket)
}

func (a WithdrawActor) String() string {
	return fmt.Sprintf("node %d gives %s back, ticket %d", a.Node, a.ID, a.Ticket)
}

func (a ActorInfeasible) String() string { return fmt.Sprintf("infeasible %s: %s", a.ID, a.Message) }

func (a ActorFeasible) String() string { return fmt.Sprintf("feasible %s", a.ID) }

func (a Prepare) String() string {
	return fmt.Sprintf("node %d prepares bundles %v of group %x#%d, ticket %d", a.Node, a.Index, a.Group[0], a.Epoch, a.Ticket)
}

func (a Unprepare) String() string {
	return fmt.Sprintf("node %d drops what it prepared for group %x, ticket %d", a.Node, a.Group[0], a.Ticket)
}

func (a GroupPrepared) String() string {
	return fmt.Sprintf("prepared group %x#%d on %v", a.ID[0], a.Epoch, a.Nodes)
}

func (a GroupInfeasible) String() string {
	return fmt.Sprintf("infeasible group %x: %s", a.ID[0], a.Message)
}

func (a GroupFeasible) String() string { return fmt.Sprintf("feasible group %x", a.ID[0]) }

// String is what traces call an incarnation of an actor.
func (id ActorID) String() string { return fmt.Sprintf("actor %x#%d", id.Actor[0], id.Incarnation) }

func (a Infeasible) String() string {
	if a.Busy {
		return fmt.Sprintf("busy %s: %s", a.To, a.Message)
	}
	return fmt.Sprintf("infeasible %s: %s", a.To, a.Message)
}

// String is what traces call a class.
func (k Key) String() string { return fmt.Sprintf("%d/%d/%d", k.Node, k.Client, k.Class) }

// Bundles is what one node is asked to set aside.
type Bundles struct {
	Group  ids.Group
	Epoch  uint64
	Job    ids.Job
	Name   string
	Index  []int
	Needs  []resource.Set
	Ticket Ticket
}
