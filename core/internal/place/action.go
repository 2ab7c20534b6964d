package place

import "fmt"

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
	}
	// Infeasible says that no node of the cluster can ever give what a class needs. It is said once, until a node
	// can or the want ends. The want stays.
	Infeasible struct {
		To      Key
		Message string
	}
)

func (a Offer) String() string {
	s := fmt.Sprintf("offer %d of node %d to %s, ticket %d", a.N, a.Node, a.To, a.Ticket)
	if a.Choice > 0 {
		s += fmt.Sprintf(" (alternative %d)", a.Choice)
	}
	return s
}

func (a Infeasible) String() string { return fmt.Sprintf("infeasible %s: %s", a.To, a.Message) }

// String is what traces call a class.
func (k Key) String() string { return fmt.Sprintf("%d/%d/%d", k.Node, k.Client, k.Class) }
