package client

import (
	"fmt"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/execute"
	"github.com/eagleray/eagleray/core/internal/notice"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// fromDaemon handles what the daemon pushes, on the control connection's goroutine.
func (c *Client) fromDaemon(m *wire.Message) {
	var err error
	switch m.Type {
	case wire.TLeaseGrant:
		g := new(wire.LeaseGrant)
		if err = m.Decode(g); err == nil {
			c.granted(g)
		}
	case wire.TLeaseRecall:
		var r wire.LeaseRef
		if err = m.Decode(&r); err == nil {
			c.recalled(r.LeaseID)
		}
	case wire.TLeaseWanted:
		var r wire.LeaseRef
		if err = m.Decode(&r); err == nil {
			c.leaseWanted(r.LeaseID)
		}
	case wire.TLeaseBroken:
		b := new(wire.LeaseBroken)
		if err = m.Decode(b); err == nil {
			c.brokenLease(b)
		}
	case wire.TClassInfeasible:
		var t wire.ClassTrouble
		if err = m.Decode(&t); err == nil {
			c.trouble(t.ClassID, troubleOf(&t))
		}
	case wire.TLeaseOffer:
		o := new(wire.LeaseOffer)
		if err = m.Decode(o); err == nil {
			err = c.offered(o)
		}
	case wire.TLogs:
		var b wire.LogBatch
		if err = m.Decode(&b); err == nil {
			for i := range b.Lines {
				c.notes.Add(notice.Note{Log: &b.Lines[i]})
			}
		}
	case wire.TForget:
		var q wire.FunctionRef
		if err = m.Decode(&q); err == nil && c.exec != nil {
			c.working(func(e *execute.Worker) { e.Forget(q.FID) })
		}
	case wire.TProcessCensus:
		var q wire.CensusAsk
		if err = m.Decode(&q); err == nil {
			err = m.Reply(c.answerCensus(&q))
		}
	case wire.TActorStart:
		s := new(wire.ActorStart)
		if err = m.Decode(s); err == nil && c.exec != nil {
			err = c.BecomeActor(s)
		}
	case wire.TActorStop:
		if c.exec != nil {
			c.working((*execute.Worker).Drain)
		}
	case wire.TRunning:
		if c.exec != nil {
			var r wire.Running
			c.working(func(e *execute.Worker) { r = e.Report() })
			err = m.Reply(r)
		}
	case wire.TExit:
		if c.exec != nil {
			c.working(func(e *execute.Worker) {
				err = m.Reply(c.exitAnswer())
				e.Stop(wire.ExitIdle)
			})
		}
	case wire.TEnding:
		var e wire.Ending
		if err = m.Decode(&e); err == nil {
			c.daemonEnds(e.Reason)
		}
	case wire.TObjLetGo:
		c.unpinUnused()
	case wire.TObjFreed:
		var q wire.ObjRefs
		if err = m.Decode(&q); err == nil {
			c.freedElsewhere(q.ObjectIDs)
		}
	default:
		err = fault.New(fault.BadRequest, "%s is not for a client", m.Type)
	}
	if err != nil {
		c.notes.Add(notice.Note{Warning: fmt.Sprintf("message from the daemon was not understood: %v", err)})
		_ = m.Fail(err)
	}
}

// working takes the mutex and calls f with this worker's queue.
func (c *Client) working(f func(e *execute.Worker)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c.exec)
}

// exitAnswer says what keeps this worker, which is told to exit; mu held.
func (c *Client) exitAnswer() wire.ExitAnswer {
	e := c.exec
	return wire.ExitAnswer{Needed: e.Idle() && c.needed(), Runs: e.Busy()}
}

// Note is something for the program's user.
type Note = notice.Note

// NextNote waits for a note; nil when the timeout passed.
func (c *Client) NextNote(timeout time.Duration) *Note { return c.notes.Next(timeout) }
