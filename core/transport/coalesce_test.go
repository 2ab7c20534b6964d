package transport

import (
	"testing"
	"time"
)

// coalesced is how long answers are left to collect right after a look: the
// least of several times, for the machine may be slow now and then.
func coalesced(p *Poller, before func()) time.Duration {
	least := time.Hour
	for range 20 {
		p.mu.Lock()
		before()
		began := time.Now()
		p.lookedAt = began
		p.coalesce(-1)
		least = min(least, time.Since(began))
		p.Glance() // takes the kick
		p.mu.Unlock()
	}
	return least
}

func TestCoalesce_OnlyWhereTheHostAllowsIt(t *testing.T) {
	p, h := newPoller(t)
	if took := coalesced(p, func() {}); took >= coalesceFor {
		t.Errorf("the host does not allow it, and it took %v", took)
	}
	h.coalesces = true
	if took := coalesced(p, func() {}); took < coalesceFor {
		t.Errorf("the host allows it, and it took %v, want %v", took, coalesceFor)
	}
}

func TestCoalesce_WhatEndsThePoll_EndsItToo(t *testing.T) {
	p, h := newPoller(t)
	h.coalesces = true
	kicked := func() {
		p.polling = true
		p.kick()
		p.polling = false
	}
	if took := coalesced(p, kicked); took >= coalesceFor {
		t.Errorf("kicked, it took %v at least, as long as without", took)
	}
}
