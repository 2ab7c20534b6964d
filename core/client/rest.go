package client

import (
	"time"

	"github.com/eagleray/eagleray/core/store"
	"github.com/eagleray/eagleray/core/wire"
)

// arenaRest is how often a process lets go of the arena's pages that no value of
// its program looks at. In a minute it touches few anew.
const arenaRest = time.Minute

// What only the beginning of a session uses is over after begunRest, or, where
// that takes long, the second time after as long as that and sureRest.
const (
	begunRest = 500 * time.Millisecond
	sureRest  = 2 * time.Second
)

// restBegun is run by restTimer first. Workers rest when they have no work.
func (c *Client) restBegun() { c.restOnce(sureRest, c.restAgain) }

func (c *Client) restAgain() { c.restOnce(arenaRest, c.restArena) }

func (c *Client) restOnce(next time.Duration, f func()) {
	if c.opts.Rest != nil && c.opts.Role == wire.RoleDriver {
		c.opts.Rest()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.restTimer = time.AfterFunc(next, f)
	}
}

// restArena is run by restTimer, again and again.
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
	c.arena.Trim(used)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.restTimer.Reset(arenaRest)
	}
}
