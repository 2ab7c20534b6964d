package client

import (
	"time"

	"github.com/eagleray/eagleray/core/internal/refs"
)

// needed reports whether something would be lost with this worker, which
// wants to end since began; mu held.
func (c *Client) needed(began time.Time) bool {
	if c.submit.Unfinished() > 0 || c.submit.Creating() || len(c.table.Retained()) > 0 {
		return true
	}
	if time.Since(began) < receiptPatience && c.table.Unconfirmed() {
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
