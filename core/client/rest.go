package client

import (
	"time"

	"github.com/eagleray/eagleray/core/store"
)

// arenaRest is how often a process lets go of the arena's pages that no value of
// its program looks at. In a minute it touches few anew.
const arenaRest = time.Minute

// restArena is run by restTimer.
func (c *Client) restArena() {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	var used []store.Span
	for _, v := range c.views {
		if v.file == nil && v.holds > 0 && v != c.spare.view {
			used = append(used, store.Span{Off: v.off, Size: v.size})
		}
	}
	c.mu.Unlock()
	c.arena.Rest(used)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.restTimer.Reset(arenaRest)
	}
}
