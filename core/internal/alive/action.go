package alive

import (
	"fmt"
	"time"
)

// Why says what is known of a node's death.
type Why byte

const (
	Silent   Why = iota + 1 // nothing was heard for Timing.Dead
	Obituary                // its warden says that nothing of it is left
	Goodbye                 // it has said that it ends
)

func (w Why) String() string {
	names := [...]string{"unknown", "silent", "obituary", "goodbye"}
	if int(w) < len(names) {
		return names[w]
	}
	return fmt.Sprintf("why %d", byte(w))
}

// ActionKind says what an Action asks for.
type ActionKind byte

const (
	// Of Heads.
	Propose     ActionKind = iota + 1 // have the round Number committed, then call Committed
	Acknowledge                       // tell Node that its heartbeat Number counts
	Unreachable                       // place nothing new on Node
	Reachable                         // Node was heard again
	Dead                              // have the death of Node committed; Why is what is known
	MayRestart                        // exclusive actors of Node may be started elsewhere
	TellDead                          // tell Node that it was declared dead

	// Of Node.
	Send       // send the heartbeat Number to the head
	ValidUntil // this node is counted on until Until, by its own boot time
	Alone      // nobody has acknowledged a heartbeat that was sent later than Timing.Unreachable ago
	Together   // somebody has again
	Expired    // Until has passed: exclusive actors begin no call
	EndAll     // this node was declared dead: end its processes, and return with a new number
)

// Action is something that the machine's user must do, in the order given.
type Action struct {
	Kind   ActionKind
	Node   uint32
	Number uint64
	Why    Why
	Until  time.Duration
}

func (a Action) String() string {
	switch a.Kind {
	case Propose:
		return fmt.Sprintf("propose round %d", a.Number)
	case Acknowledge:
		return fmt.Sprintf("acknowledge %d of node %d", a.Number, a.Node)
	case Unreachable:
		return fmt.Sprintf("node %d is unreachable", a.Node)
	case Reachable:
		return fmt.Sprintf("node %d is reachable", a.Node)
	case Dead:
		return fmt.Sprintf("node %d is dead: %s", a.Node, a.Why)
	case MayRestart:
		return fmt.Sprintf("node %d may be replaced", a.Node)
	case TellDead:
		return fmt.Sprintf("tell node %d that it is dead", a.Node)
	case Send:
		return fmt.Sprintf("send %d", a.Number)
	case ValidUntil:
		return fmt.Sprintf("valid until %v", a.Until)
	case Alone:
		return "alone"
	case Together:
		return "together"
	case Expired:
		return "expired"
	case EndAll:
		return "end all"
	}
	return fmt.Sprintf("action %d", a.Kind)
}
