package process

import (
	"time"

	"github.com/eagleray/eagleray/core/internal/resume"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// HeadNumber is the number of the head among those of the nodes, which begin with 1.
const HeadNumber = 0

// Limits of a start.
const (
	// ReadyLimit is how long a warden waits until a process of its node is ready.
	ReadyLimit = 30 * time.Second
	// LeaderLimit is how long a process waits for a head that leads. It is far beyond what an embedded voter needs to lead itself. A process that waits in vain has time
	// to end and to say why before its warden ends it.
	LeaderLimit = ReadyLimit - 5*time.Second
)

// LinkSession bounds the sessions between two nodes. Each process that calls another one on another node has two streams,
// so 4,000 pairs of processes of two nodes can talk. If all of them stopped reading, they would hold 2 GiB.
var LinkSession = resume.Options{MaxStreams: 8192}

// Handler makes a wire.Handler of a function that reports whether a message was its own. Whoever sends another one is of
// another version, or faulty.
func Handler(handle func(*wire.Message) bool) wire.Handler {
	return func(m *wire.Message) {
		if !handle(m) {
			m.Peer().Close()
		}
	}
}
