package client

import (
	"testing"
	"time"
)

// dozes is how long a doze takes that begins right after a look: the least of
// several, for the machine may be slow now and then.
func (c *Client) dozes() time.Duration {
	least := time.Hour
	for range 20 {
		least = min(least, c.dozesOnce())
	}
	return least
}

func (c *Client) dozesOnce() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	began := time.Now()
	c.lookedAt = began
	c.doze(-1)
	return time.Since(began)
}

func TestDoze_OnlyWhileAllWorkersAreBusy(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	if took := c.dozes(); took >= dozeFor {
		t.Errorf("without any task it took %v", took)
	}
	l := &lease{class: &class{paces: []pace{{us: 1000, depth: 2}}}, busy: 4}
	c.mu.Lock()
	c.leases[1] = l
	c.mu.Unlock()
	if took := c.dozes(); took < dozeFor {
		t.Errorf("with 4 ms of work it took %v, want %v", took, dozeFor)
	}
	c.mu.Lock()
	c.leases[2] = &lease{class: &class{paces: []pace{{us: 10, depth: 200}}}, busy: 500}
	c.mu.Unlock()
	if took := c.dozes(); took >= dozeFor {
		t.Errorf("with 500 tasks of 10 µs at one worker it took %v", took)
	}
	c.mu.Lock()
	c.leases[2] = &lease{class: l.class, busy: 2}
	c.mu.Unlock()
	if took := c.dozes(); took >= dozeFor {
		t.Errorf("with 2 ms of work at one worker it took %v", took)
	}
	c.mu.Lock()
	clear(c.leases)
	c.mu.Unlock()
}

func TestDoze_WhatEndsThePoll_EndsItToo(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	c.mu.Lock()
	c.leases[1] = &lease{class: &class{paces: []pace{{us: 1000, depth: 2}}}, busy: 4}
	c.mu.Unlock()
	least := time.Hour
	for range 20 {
		c.mu.Lock()
		c.polling = true
		c.kick()
		c.polling = false
		c.mu.Unlock()
		least = min(least, c.dozesOnce())
		c.mu.Lock()
		c.poll(0) // takes the kick
		c.mu.Unlock()
	}
	if least >= dozeFor {
		t.Errorf("kicked, it took %v at least, as long as without", least)
	}
	c.mu.Lock()
	clear(c.leases)
	c.mu.Unlock()
}
