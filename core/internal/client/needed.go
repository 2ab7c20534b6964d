package client

import "github.com/eagleray/eagleray/core/internal/refs"

// needed reports whether something would be lost with this worker. An answer that its caller has not confirmed counts
// for as long as the caller lives, however slow the owners are with whom the caller registers; mu held.
func (c *Client) needed() bool {
	if c.submit.Unfinished() > 0 || c.submit.Creating() || len(c.table.Retained()) > 0 || c.table.Unconfirmed() {
		return true
	}
	lent := false
	c.table.Each(func(o *refs.Object) bool {
		lent = o.Owned() && o.Borrowers() > 0
		return !lent
	})
	return lent
}

// lessNeeded has stayWhileNeeded and outlive look again; mu held.
func (c *Client) lessNeeded() {
	if c.leaving != nil {
		c.poller.Finish(c.leaving)
	}
}
