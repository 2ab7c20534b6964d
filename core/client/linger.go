package client

import (
	"context"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/own"
	"github.com/eagleray/eagleray/core/wire"
)

// A worker that ends on purpose stays for what would be lost with it: objects
// that it owns and others hold, tasks that it has submitted. An actor does not.
const (
	lingerQuietly   = 100 * time.Millisecond // then its resources are given to others
	receiptPatience = 5 * time.Second        // a caller that does not confirm its answer has gone
	exitPatience    = 5 * time.Second        // how long callers may take to read their answers
)

// Exiting announces that this worker ends on purpose, sends all answers, and
// returns when it may end.
func (c *Client) Exiting(reason string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.push(wire.TWorkerExit, wire.WorkerExit{Reason: reason})
	deadline := time.Now().Add(exitPatience)
	for _, s := range c.sockets {
		c.flushHard(s.base(), deadline)
	}
	c.linger(reason)
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), exitPatience)
	_ = c.daemon.Flush(ctx) // the process ends either way
	cancel()
	c.mu.Lock()
	return nil
}

// linger waits until the process is needed no more; mu held.
func (c *Client) linger(reason string) {
	began, told := time.Now(), false
	for !c.closed && c.needed(began) {
		now := time.Now()
		until := began.Add(lingerQuietly)
		if !now.Before(until) {
			if !told {
				c.push(wire.TWorkerExit, wire.WorkerExit{Reason: reason, Lingers: true})
			}
			told, until = true, now.Add(time.Second)
		}
		c.leaving = newWaiter()
		c.await(c.leaving, until)
	}
	c.leaving = nil
}

// lessNeeded lets linger look again; mu held.
func (c *Client) lessNeeded() {
	if c.leaving != nil {
		c.finish(c.leaving)
	}
}

// needed reports whether something would be lost with this worker, which
// wants to end since began; mu held.
func (c *Client) needed(began time.Time) bool {
	e := c.exec
	switch {
	case e == nil || e.actorID != (ids.Actor{}):
		return false
	case c.unfinished > 0:
		return true
	case time.Since(began) < receiptPatience:
		for _, m := range e.held {
			if len(m) > 0 {
				return true
			}
		}
	}
	lent := false
	c.table.Each(func(o *own.Object) bool {
		lent = o.Owned() && o.Borrowers() > 0
		return !lent
	})
	return lent
}
