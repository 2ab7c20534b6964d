package client

import (
	"time"

	"github.com/eagleray/eagleray/core/wire"
)

// trimEvery is how often a process lets go of the arena's pages that no value of
// its program looks at. In a minute it touches few anew.
const trimEvery = time.Minute

// What only the beginning of a session uses is over after beginTrim, or, where
// that takes long, the second time after as long as that and sureTrim.
const (
	beginTrim = 500 * time.Millisecond
	sureTrim  = 2 * time.Second
)

// mapArena makes the arena's memory readable here, once; mu held, or before the session has begun.
func (c *Client) mapArena() error {
	first, err := c.local.MapArena()
	if first && err == nil {
		c.trimTimer = time.AfterFunc(beginTrim, c.trimBegun)
	}
	return err
}

// trimBegun is run by trimTimer first. Workers let go of memory when they have no work.
func (c *Client) trimBegun() { c.trimOnce(sureTrim, c.trimAgain) }

func (c *Client) trimAgain() { c.trimOnce(trimEvery, c.trimArena) }

func (c *Client) trimOnce(next time.Duration, f func()) {
	if c.opts.Rest != nil && c.opts.Role == wire.RoleDriver {
		c.opts.Rest()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.trimTimer = time.AfterFunc(next, f)
	}
}

// trimArena is run by trimTimer, again and again.
func (c *Client) trimArena() {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	used := c.local.LookedAt()
	c.mu.Unlock()
	c.local.Trim(used)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.trimTimer.Reset(trimEvery)
	}
}
