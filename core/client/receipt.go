package client

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/own"
)

// hold keeps what a result refers to until its caller confirms that it has
// registered the references; they are pinned already; mu held.
func (c *Client) hold(caller ids.Owner, t ids.Task, list []*own.Object) {
	m := c.held[caller]
	if m == nil {
		m = map[ids.Task][]*own.Object{}
		c.held[caller] = m
	}
	m[t] = append(m[t], list...)
}

// confirmed: the caller has registered the references inside a result.
func (c *Client) confirmed(who ids.Owner, raw []byte) {
	var t ids.Task
	copy(t[:], raw)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.held[who][t] {
		c.table.Unpin(o)
	}
	delete(c.held[who], t)
	c.carryOut()
	c.lessNeeded()
}

// dropReplies forgets what a caller that is gone had not confirmed; mu held.
func (c *Client) dropReplies(who ids.Owner) {
	for _, list := range c.held[who] {
		for _, o := range list {
			c.table.Unpin(o)
		}
	}
	delete(c.held, who)
}
