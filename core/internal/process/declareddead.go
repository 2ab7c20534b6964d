package process

import "errors"

// RejoinStatus is the exit status of a daemon whose node was declared dead. Its warden starts the next one, which joins as a new node.
const RejoinStatus = 75

// DeclaredDeadError is why such a daemon ends.
type DeclaredDeadError struct{ Reason string }

func (e *DeclaredDeadError) Error() string {
	return "the cluster has declared this node dead: " + e.Reason
}

// RemovedStatus is the exit status of a head that was removed from its cluster. Its warden lets the node beside it go on without it.
const RemovedStatus = 76

// ErrRemoved is why such a head ends, and why it does not start.
var ErrRemoved = errors.New("this head was removed from the cluster (`eagleray heads remove`), and its number is given to nobody else. To let it join again, as a new head, start it with a new folder for its state (--state-dir), and keep the old one until `eagleray heads list` shows it")
