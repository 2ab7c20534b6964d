package process

import (
	"time"

	"github.com/eagleray/eagleray/core/internal/resume"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// HeadNumber is the number of the head among those of the nodes, which begin with 1.
const HeadNumber = 0

// LeaderLimit is far beyond what an embedded voter needs to lead itself.
const LeaderLimit = 30 * time.Second

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
