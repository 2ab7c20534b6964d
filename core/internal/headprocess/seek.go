package headprocess

import (
	"context"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/internal/headgroup"
	"github.com/eagleray/eagleray/core/internal/join"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/raftstate"
)

// lookForHeads is how long no head may lead before a head looks for the others at other addresses.
const lookForHeads = 3 * time.Second

// seek looks for the other heads while none leads: at the addresses that this head was started with, whose names may lead elsewhere by now. So heads that have all
// moved at the same time find each other.
func (c *Config) seek(ctx context.Context, asks join.Client, state *raftstate.Node, book *headgroup.Book, tokens func() []pki.Token, self uint32) {
	if len(c.Join) == 0 {
		return
	}
	tick := time.NewTicker(lookForHeads)
	defer tick.Stop()
	for without := 0; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if state.Leader() != "" {
			without = 0
			continue
		}
		if without++; without < 2 {
			continue
		}
		asks.Heads, asks.Token = slices.Clone(c.Join), tokens()[0]
		asking, cancel := context.WithTimeout(ctx, 2*lookForHeads)
		_ = asks.Where(asking, func(h linkmsg.Heads) { // heads that do not answer are asked again
			for _, at := range h.All {
				if at.Number == h.From && at.Number != self {
					book.Moved(at.Number, at.Addresses)
				}
			}
		})
		cancel()
	}
}
