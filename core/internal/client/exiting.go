package client

import (
	"context"
	"errors"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/handover"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A worker that ends on purpose may be needed: for objects that it owns and
// others hold, for tasks that it has submitted. An actor is not, but the callers
// of its last calls may still have to register the references inside their answers.
const (
	movesAfter   = 5 * time.Millisecond // most of what a worker is needed for passes sooner
	moveAgain    = time.Second          // after a move that could not begin
	exitPatience = 5 * time.Second      // how long callers may take to read their answers
)

// Exiting announces that this worker ends on purpose, sends all answers, and
// returns when it may end.
func (c *Client) Exiting(reason string) error {
	c.lastAnswers(reason)
	c.flushDaemon()
	return nil
}

// lastAnswers announces that this worker ends, sends all answers, and stays while the process is needed.
func (c *Client) lastAnswers(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.push(wire.TWorkerExit, wire.WorkerExit{Reason: reason, Ran: c.lastRuns()})
	c.poller.FlushUntil(time.Now().Add(exitPatience))
	c.stayWhileNeeded()
}

// flushDaemon waits for a while until the daemon's connection has taken what was pushed. The process ends either way, and
// what the daemon did not hear it learns from the end of the connection.
func (c *Client) flushDaemon() {
	ctx, cancel := context.WithTimeout(context.Background(), exitPatience)
	defer cancel()
	c.FlushDaemon(ctx)
}

// stayWhileNeeded waits a moment for the process to be needed no more. Then the process
// moves: it keeps its devices and what it has pinned until it has ended, so it
// must not stay for others. Without a successor it has to stay; mu held.
func (c *Client) stayWhileNeeded() {
	if c.exec == nil {
		return
	}
	if c.exec.ActorID() != (ids.Actor{}) {
		c.stayUntilConfirmed(time.Now().Add(exitPatience))
		return
	}
	next := time.Now().Add(movesAfter) // when it moves, or looks again whether it is needed
	var tried moveAttempts
	for !c.Closed() && c.needed() {
		if now := time.Now(); !now.Before(next) {
			next = now.Add(moveAgain)
			if !tried.never {
				err := c.move()
				if err == nil {
					break
				}
				if tried.failed(err) {
					c.warn("this worker stays until nobody needs what it owns, because no successor can take over: %v", err)
				}
			}
		}
		w := wait.New()
		c.stays(w)
		c.poller.Await(w, next)
	}
	c.stays(nil)
}

// stayUntilConfirmed waits until the callers have registered all references inside the answers of this actor: until
// then only this process tells the owners of these objects that they are held; mu held.
func (c *Client) stayUntilConfirmed(deadline time.Time) {
	for !c.Closed() && c.table.Unconfirmed() && time.Now().Before(deadline) {
		w := wait.New()
		c.stays(w)
		c.poller.Await(w, deadline)
	}
	c.stays(nil)
}

// stays notes that this process waits, in w, until nobody needs it any more. A nil w means that it does not wait; mu held.
func (c *Client) stays(w *wait.Wait) {
	c.leaving = w
	c.submit.Leaves(w != nil)
}

// moveAttempts are the moves of a worker that could not begin.
type moveAttempts struct {
	said  string // why the latest one could not
	never bool   // no later one can
}

// failed notes why a move could not begin, and reports whether that is news.
func (a *moveAttempts) failed(err error) bool {
	a.never = a.never || errors.Is(err, handover.ErrOtherVersion)
	news := err.Error() != a.said
	a.said = err.Error()
	return news
}
