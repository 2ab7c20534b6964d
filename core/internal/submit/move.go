package submit

import (
	"maps"
	"slices"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// PrepareMove lets go of what only the program of this process has, because the
// process hands over to a successor: generators that the program reads, leases that have
// nothing to do, and wants. Leases that work finish what they have and get no more.
func (c *Submitter) PrepareMove() {
	for _, gen := range c.Generators.Read() {
		c.LeaveStream(gen)
	}
	for _, l := range c.Leases {
		l.Recall = true
	}
	for _, l := range slices.Collect(maps.Values(c.Leases)) {
		switch {
		case l.Lost != nil && l.Node != 0: // its daemon's word may come yet, and the successor waits for it
		case l.Lost != nil:
			c.retryLost(l, "the worker is gone")
		case l.Channel != nil && l.Busy == 0:
			c.ReturnLease(l)
		}
	}
	for _, k := range c.Classes {
		c.Unask(k)
		if k.Want > 0 {
			k.Want = 0
			c.fx.Push(wire.TLeaseWant, wire.LeaseWant{ClassID: k.ID})
		}
	}
}

// Quiet reports whether every call is in a queue or was sent: a call that waits for
// something else first cannot be handed over.
func (c *Submitter) Quiet() bool { return c.Unqueued == 0 }
