package guests

import (
	"math"
	"time"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// longestWay bounds what is believed of the way to another node: a daemon that was stopped for a while is not far away.
const longestWay = time.Second

// RoundTrip returns how long a message to the daemon of a node and its answer take. It is 0 if that is not known.
func (g *Guests) RoundTrip(node uint32) time.Duration {
	if h := g.homes[node]; h != nil && !h.lost {
		return h.way
	}
	return 0
}

// noClass is a number that no class has. The daemon answers a question about it at once.
const noClass = math.MaxUint32

// measure asks the daemon something that it answers at once. It is the first thing that is said, so the answer comes before
// any lease. The answer to the hello came later than this one will, if the nodes had to connect for it.
func (h *home) measure() {
	begun := time.Now()
	h.peer.Go(wire.TWhoHolds, wire.ClassTrouble{ClassID: noClass}, func(_ *wire.Message, err error) {
		took := time.Since(begun)
		h.all.mu.Lock()
		defer h.all.mu.Unlock()
		if err == nil {
			h.way = min(h.way, took)
		}
	})
}
