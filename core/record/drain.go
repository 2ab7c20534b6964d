package record

import "fmt"

// DrainReason says why a node is to leave the cluster. The texts are those of Ray's command `drain-node`.
type DrainReason string

// The reasons.
const (
	DrainIdle       DrainReason = "DRAIN_NODE_REASON_IDLE_TERMINATION" // nothing runs there
	DrainPreemption DrainReason = "DRAIN_NODE_REASON_PREEMPTION"       // the machine will be taken away
)

// Drain is that a node gets no new work and leaves the cluster when it is idle, or when the deadline has passed.
type Drain struct {
	//lint:ignore U1000 msgpack reads the tag
	_msgpack struct{} `msgpack:",omitempty"`

	Reason     DrainReason `msgpack:"reason"`
	Message    string      `msgpack:"msg"`      // what the one who asked for it has said
	AtMs       int64       `msgpack:"at"`       // when it was asked for, by the head's clock
	DeadlineMs int64       `msgpack:"deadline"` // when the node ends although it works, by the same clock; 0: never
}

// MaxDrainMessage is how many bytes Drain.Message may have.
const MaxDrainMessage = 4096

// Check returns an error if it cannot be one.
func (d *Drain) Check() error {
	switch {
	case d.Reason != DrainIdle && d.Reason != DrainPreemption:
		return fmt.Errorf("the reason %.100q to drain a node is not known: %s and %s are", d.Reason, DrainIdle, DrainPreemption)
	case len(d.Message) > MaxDrainMessage:
		return fmt.Errorf("the message about why a node is drained has %d bytes, at most %d are allowed", len(d.Message), MaxDrainMessage)
	case d.DeadlineMs < 0 || d.AtMs < 0:
		return fmt.Errorf("the deadline of a node that is drained is before 1970")
	}
	return nil
}

// String says in words why the node leaves.
func (d *Drain) String() string {
	why := "it was preempted"
	if d.Reason == DrainIdle {
		why = "it was idle and was drained"
	}
	if d.Message != "" {
		why += ": " + d.Message
	}
	return why
}

// Preempted reports whether the node is drained, or was, because its machine is taken away.
func (n *Node) Preempted() bool { return n.Drain != nil && n.Drain.Reason == DrainPreemption }
