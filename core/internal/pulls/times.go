package pulls

import "time"

// times are the times of bulk connections.
type times struct {
	patience  time.Duration // how long a holder may send nothing before it is not read from any more
	waitEvery time.Duration // how often a holder says that a chunk is not there yet
	slowFrom  time.Duration // a stream whose chunk takes longer may lose it to another one; see stream.cutSlow
}

var usualTimes = times{patience: 5 * time.Second, waitEvery: time.Second, slowFrom: 2 * time.Second}

// silence is how long a node that reads may ask for nothing, and take nothing. It closes a connection that it does not use much earlier.
const silence = 6 * idleFor
