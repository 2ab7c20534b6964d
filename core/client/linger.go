package client

import (
	"context"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wait"
	"github.com/eagleray/eagleray/core/wire"
)

// A worker that ends on purpose may be needed: for objects that it owns and
// others hold, for tasks that it has submitted. An actor is not.
const (
	movesAfter      = 5 * time.Millisecond // most of what it is needed for passes sooner
	moveAgain       = time.Second          // when no heir was found
	receiptPatience = 5 * time.Second      // a caller that does not confirm its answer has gone
	exitPatience    = 5 * time.Second      // how long callers may take to read their answers
)

// Exiting announces that this worker ends on purpose, sends all answers, and
// returns when it may end.
func (c *Client) Exiting(reason string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.push(wire.TWorkerExit, wire.WorkerExit{Reason: reason})
	deadline := time.Now().Add(exitPatience)
	c.poller.FlushUntil(deadline)
	c.linger()
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), exitPatience)
	_ = c.daemon.Flush(ctx) // the process ends either way
	cancel()
	c.mu.Lock()
	return nil
}

// linger waits a moment whether the process is needed no more; else it moves. It
// keeps what it holds until it has ended, so it must not stay for others; mu held.
func (c *Client) linger() {
	if c.exec == nil || c.exec.ActorID() != (ids.Actor{}) {
		return
	}
	began := time.Now()
	moves := began.Add(movesAfter)
	for !c.closed && c.needed(began) {
		if now := time.Now(); !now.Before(moves) {
			if c.move() {
				break
			}
			moves = now.Add(moveAgain)
		}
		c.leaving = wait.New()
		c.poller.Await(c.leaving, moves)
	}
	c.leaving = nil
}

// lessNeeded lets linger look again; mu held.
func (c *Client) lessNeeded() {
	if c.leaving != nil {
		c.poller.Finish(c.leaving)
	}
}

// needed reports whether something would be lost with this worker, which
// wants to end since began; mu held.
func (c *Client) needed(began time.Time) bool {
	if c.unfinished > 0 || c.creating() || len(c.table.Retained()) > 0 {
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

// creating reports whether an actor's constructor may still ask for arguments
// that this process owns, or waits for them to be registered; mu held.
func (c *Client) creating() bool {
	for _, a := range c.actors {
		b := a.creation
		switch {
		case b == nil:
		case b.again:
			if a.token == nil || a.token.Borrowers() > 0 { // else it ends with this process's handles
				return true
			}
		case len(b.task.deps) > 0 || b.task.argsRef != nil || !b.announce:
			return true
		}
	}
	return false
}
