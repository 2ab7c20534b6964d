package keyleases

import (
	"maps"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/record"
)

const (
	tick       = 500 * time.Millisecond // Advance is called so often while there are leases
	longestGap = time.Second            // between two calls of Advance that counts
)

// Trust is how long a holder counts on a lease after it has sent a word that was confirmed.
func Trust(ttl time.Duration) time.Duration { return ttl - ttl/5 }

// Every is how often a holder sends its word: three are lost before it counts on the lease no more.
func Every(ttl time.Duration) time.Duration { return ttl / 5 }

// Clock counts the time of the leases in one reign.
type Clock struct {
	now    time.Duration // as of the last call
	leases map[uint64]*entry
}

// entry is a lease whose time is counted.
type entry struct {
	ttl    time.Duration
	until  time.Duration
	ending bool // it is about to end, and nothing keeps it any more
}

// New begins a reign: each lease has its whole time from now on.
func New(now time.Duration, leases []record.KeyLease) *Clock {
	c := &Clock{now: now, leases: map[uint64]*entry{}}
	for _, l := range leases {
		c.Granted(now, l)
	}
	return c
}

// Granted adds a lease, unless the clock has it.
func (c *Clock) Granted(now time.Duration, l record.KeyLease) {
	if c.leases[l.ID] == nil {
		c.leases[l.ID] = &entry{ttl: l.TTL(), until: now + l.TTL()}
	}
}

// Ended forgets a lease.
func (c *Clock) Ended(id uint64) { delete(c.leases, id) }

// Sync makes the leases those of the state: the clock has missed what happened to them.
func (c *Clock) Sync(now time.Duration, leases []record.KeyLease) {
	there := map[uint64]bool{}
	for _, l := range leases {
		there[l.ID] = true
		c.Granted(now, l)
	}
	maps.DeleteFunc(c.leases, func(id uint64, _ *entry) bool { return !there[id] })
}

// Keep has the time of a lease begin anew. It reports false for a lease that is not there, or is about to end.
func (c *Clock) Keep(now time.Duration, id uint64) bool {
	e := c.leases[id]
	if e == nil || e.ending {
		return false
	}
	e.until = max(e.until, now+e.ttl)
	return true
}

// Advance tells the time, and returns the leases whose time has passed, in the order of their names. They have to be ended.
func (c *Clock) Advance(now time.Duration) (due []uint64) {
	if pause := now - c.now - longestGap; pause > 0 { // nobody was heard meanwhile
		for _, e := range c.leases {
			e.until += pause
		}
	}
	c.now = now
	for id, e := range c.leases {
		if !e.ending && e.until <= now {
			e.ending = true
			due = append(due, id)
		}
	}
	slices.Sort(due)
	return due
}

// Next returns when Advance is to be called; false: there is nothing to count.
func (c *Clock) Next() (at time.Duration, some bool) {
	at = c.now + tick
	for _, e := range c.leases {
		if !e.ending {
			at, some = min(at, e.until), true
		}
	}
	return max(at, c.now), some
}
