package client

import (
	"fmt"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/wire"
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
			code := fault.TaskUnschedulable
			if t.Code != "" {
				code = fault.Code(t.Code)
			}
			c.trouble(t.ClassID, fault.New(code, "%s", t.Message))
		}
	case wire.TLogs:
		var b wire.LogBatch
		if err = m.Decode(&b); err == nil {
			for i := range b.Lines {
				c.notes.add(Note{Log: &b.Lines[i]})
			}
		}
	case wire.TForget:
		var q wire.FunctionRef
		if err = m.Decode(&q); err == nil && c.exec != nil {
			c.mu.Lock()
			c.exec.Forget(q.FID)
			c.mu.Unlock()
		}
	case wire.TProcessCensus:
		var q wire.CensusAsk
		if err = m.Decode(&q); err == nil {
			err = m.Reply(c.tally(&q))
		}
	case wire.TActorStart:
		s := new(wire.ActorStart)
		if err = m.Decode(s); err == nil && c.exec != nil {
			err = c.becomeActor(s)
		}
	case wire.TActorStop:
		if c.exec != nil {
			c.mu.Lock()
			c.exec.Drain()
			c.mu.Unlock()
		}
	case wire.TRunning:
		if c.exec != nil {
			c.mu.Lock()
			r := c.exec.Report()
			c.mu.Unlock()
			err = m.Reply(r)
		}
	case wire.TExit:
		if c.exec != nil {
			c.mu.Lock()
			err = m.Reply(c.exitAnswer())
			c.exec.Stop("idle")
			c.mu.Unlock()
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
		c.notes.add(Note{Warning: fmt.Sprintf("message from the daemon was not understood: %v", err)})
		_ = m.Fail(err)
	}
}

// exitAnswer says what keeps this worker, which is told to exit; mu held.
func (c *Client) exitAnswer() wire.ExitAnswer {
	e := c.exec
	return wire.ExitAnswer{Needed: e.Idle() && c.needed(time.Now()), Runs: e.Busy()}
}

// Note is something for the program's user: a line of a worker's output or a warning.
type Note struct {
	Log     *wire.LogLine
	Warning string
	Error   string // a failure that nobody has fetched
	Closed  string
}

// maxNotes bounds what waits for a program that does not print.
const maxNotes = 100_000

type notes struct {
	mu   sync.Mutex
	list []Note
	wake chan struct{}
	lost int
}

func (n *notes) init() { n.wake = make(chan struct{}, 1) }

func (n *notes) add(x Note) {
	n.mu.Lock()
	if len(n.list) >= maxNotes {
		n.lost++
	} else {
		n.list = append(n.list, x)
	}
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *notes) close(reason string) { n.add(Note{Closed: reason}) }

// NextNote waits for a note; nil when the timeout passed.
func (c *Client) NextNote(timeout time.Duration) *Note {
	n := &c.notes
	t := time.NewTimer(timeout)
	defer t.Stop()
	for {
		n.mu.Lock()
		if len(n.list) > 0 {
			x := n.list[0]
			n.list = n.list[1:]
			if len(n.list) == 0 && n.lost > 0 {
				n.list = append(n.list, Note{Warning: fmt.Sprintf("%d lines of output were dropped: they came faster than the driver prints", n.lost)})
				n.lost = 0
			}
			n.mu.Unlock()
			return &x
		}
		n.mu.Unlock()
		select {
		case <-n.wake:
		case <-t.C:
			return nil
		}
	}
}
