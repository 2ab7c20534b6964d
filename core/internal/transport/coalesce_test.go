package transport

import (
	"testing"
	"time"
)

// coalesced is how long answers are left to collect right after a look: the
// least and the most of several times. The machine may be slow now and then, and
// a signal of Go's scheduler may end one early.
func coalesced(p *Poller, before func()) (least, most time.Duration) {
	least = time.Hour
	for range 20 {
		p.mu.Lock()
		before()
		began := time.Now()
		p.lookedAt = began
		p.coalesce(-1)
		took := time.Since(began)
		least, most = min(least, took), max(most, took)
		p.Glance() // takes the kick
		p.mu.Unlock()
	}
	return least, most
}

func TestCoalesce_OnlyWhereTheHostAllowsIt(t *testing.T) {
	p, h := newPoller(t)
	if took, _ := coalesced(p, func() {}); took >= coalesceFor {
		t.Errorf("the host does not allow it, and it took %v", took)
	}
	h.coalesces = true
	if _, took := coalesced(p, func() {}); took < coalesceFor {
		t.Errorf("the host allows it, and it took at most %v, want %v", took, coalesceFor)
	}
}

func TestCoalesce_WhatEndsThePoll_EndsItToo(t *testing.T) {
	p, h := newPoller(t)
	h.coalesces = true
	kicked := func() {
		p.polling = true
		p.Kick()
		p.polling = false
	}
	if took, _ := coalesced(p, kicked); took >= coalesceFor {
		t.Errorf("kicked, it took %v at least, as long as without", took)
	}
}
