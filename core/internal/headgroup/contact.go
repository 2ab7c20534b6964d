package headgroup

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// While a head cannot be reached, Raft sends it its entries again and again, with pauses that double up to 10 s. When the head can be reached again, it
// would be without new entries until such a pause is over, and if another head was lost meanwhile, nothing could be committed. Heartbeats come with short
// pauses. So entries that have failed wait here for the next heartbeat that is answered, and Raft hears of the failure only then.

// contactLimit bounds that wait. Raft doubles its pause after each failure. With one failure a minute, the pause has grown to 10 s after 12 minutes.
const contactLimit = time.Minute

// contacts tells those who wait for a head when it has answered a heartbeat.
type contacts struct {
	mu   sync.Mutex
	next map[raft.ServerID]chan struct{} // closed at the next answer
}

// after returns a channel that is closed when a head answers from now on.
func (c *contacts) after(id raft.ServerID) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == nil {
		c.next = map[raft.ServerID]chan struct{}{}
	}
	if c.next[id] == nil {
		c.next[id] = make(chan struct{})
	}
	return c.next[id]
}

// answered tells those who wait for a head.
func (c *contacts) answered(id raft.ServerID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if wait := c.next[id]; wait != nil {
		close(wait)
		delete(c.next, id)
	}
}

// await waits until the channel of a head is closed, or Raft ends.
func await(ctx context.Context, answers <-chan struct{}) {
	limit := time.NewTimer(contactLimit)
	defer limit.Stop()
	select {
	case <-answers:
	case <-limit.C:
	case <-ctx.Done():
	}
}

// isHeartbeat reports whether a message has no entries and asks for nothing.
func isHeartbeat(m *raft.AppendEntriesRequest) bool {
	return len(m.Entries) == 0 && m.PrevLogEntry == 0 && m.PrevLogTerm == 0 && m.LeaderCommitIndex == 0
}
