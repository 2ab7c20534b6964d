package alive

import (
	"fmt"
	"time"
)

// Timing are the times of a cluster, which all its members share.
type Timing struct {
	Every       time.Duration // between two heartbeats of a node, and between two rounds of the head
	Unreachable time.Duration // of silence, after which nothing new is placed on a node
	Dead        time.Duration // of silence, after which a node is dead
	Fence       time.Duration // of silence, after which the node itself knows that it is not counted on
	Many        time.Duration // of silence, after which nodes are dead of which many have fallen silent
}

const (
	// DefaultDead is after how much silence a node is dead, unless the cluster's node_timeout says otherwise.
	DefaultDead = 10 * time.Second
	leastDead   = 5 * time.Second
	mostDead    = 60 * time.Second

	every = 500 * time.Millisecond

	// longestGap is how much of the time between two calls of Advance the head has listened, at most.
	longestGap = 2 * every
	// afterPause is how long a head listens after a pause before it declares a node dead.
	afterPause = 4 * every

	// leastMany is how many nodes must be silent at once to be many. They must also be more than a quarter of those that live.
	leastMany = 3
)

// ErrTimeout is why a setting node_timeout is refused.
var ErrTimeout = fmt.Errorf("must be from %v to %v", leastDead, mostDead)

// NewTiming returns the times that follow from the setting node_timeout.
func NewTiming(dead time.Duration) (Timing, error) {
	if dead < leastDead || dead > mostDead {
		return Timing{}, fmt.Errorf("node_timeout is %v, and %w", dead, ErrTimeout)
	}
	return Timing{Every: every, Unreachable: dead / 2, Dead: dead, Fence: dead + dead/5, Many: 3 * dead}, nil
}
