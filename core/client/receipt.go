package client

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
)

// hold keeps what a result refers to until its caller confirms that it has
// registered the references; they are pinned already; mu held. A task may run
// here again before that, because a result of it was lost.
func (c *Client) hold(caller ids.Owner, t ids.Task, list []*refs.Object) {
	m := c.held[caller]
	if m == nil {
		m = map[ids.Task][][]*refs.Object{}
		c.held[caller] = m
	}
	m[t] = append(m[t], list)
}

// confirmed: the caller has registered the references inside a result, the
// oldest of a task that it had not confirmed.
func (c *Client) confirmed(who ids.Owner, raw []byte) {
	var t ids.Task
	copy(t[:], raw)
	c.mu.Lock()
	defer c.mu.Unlock()
	runs := c.held[who][t]
	if len(runs) > 0 {
		c.unpinAll(runs[0])
	}
	if len(runs) > 1 {
		c.held[who][t] = runs[1:]
	} else {
		delete(c.held[who], t)
	}
	if len(c.held[who]) == 0 {
		delete(c.held, who)
	}
	c.carryOut()
	c.lessNeeded()
}

// dropReplies forgets what a caller that is gone had not confirmed; mu held.
func (c *Client) dropReplies(who ids.Owner) {
	for _, runs := range c.held[who] {
		for _, list := range runs {
			c.unpinAll(list)
		}
	}
	delete(c.held, who)
}

func (c *Client) unpinAll(list []*refs.Object) {
	for _, o := range list {
		c.table.Unpin(o)
	}
}

// unconfirmed calls f with what each run's result refers to; mu held.
func (c *Client) unconfirmed(f func(caller ids.Owner, t ids.Task, list []*refs.Object)) {
	for caller, m := range c.held {
		for t, runs := range m {
			for _, list := range runs {
				f(caller, t, list)
			}
		}
	}
}
