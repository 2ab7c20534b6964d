package headlink

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// A node's reports go to the head in the order of their numbers. A report is acknowledged when it is committed, so that
// the node keeps it until then.

// report takes a report.
func (c *session) report(m *wire.Message) error {
	var told linkmsg.Told
	if err := linkmsg.Decode("a report", m.Body, maxReport+linkmsg.MaxHello, &told); err != nil {
		return err
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	n := c.node
	switch {
	case n == nil || told.N <= n.arrived:
		return nil
	case told.N > n.arrived+1:
		return fmt.Errorf("report %d came after report %d", told.N, n.arrived)
	case len(n.waiting) >= 2*MaxUnderWay:
		return fmt.Errorf("more than %d reports are under way", MaxUnderWay)
	case c.s.closed:
		return nil
	}
	n.arrived = told.N
	n.waiting = append(n.waiting, told)
	if !n.committing {
		n.committing = true
		c.s.ends.Go(func() { c.s.commit(n) })
	}
	return nil
}

// lostPause is the time until something is tried again that the head could not do.
const lostPause = 100 * time.Millisecond

// commit commits a node's reports while there are any.
func (s *Server) commit(n *node) {
	for batch := s.takeReports(n); len(batch) > 0; batch = s.takeReports(n) {
		for !s.commitBatch(n.number, batch) {
			if s.pause(); s.ctx.Err() != nil {
				return
			}
		}
		s.acknowledge(n, batch[len(batch)-1].N)
	}
}

func (s *Server) takeReports(n *node) []linkmsg.Told {
	s.mu.Lock()
	defer s.mu.Unlock()
	batch := n.waiting
	n.waiting = nil
	n.committing = len(batch) > 0
	return batch
}

// commitBatch makes the reports and waits until they are committed. It reports false when one of them could not be:
// then all have to be made again, which is harmless.
func (s *Server) commitBatch(from uint32, batch []linkmsg.Told) bool {
	lost := s.head.LostReports()
	for i := range batch {
		if err := s.tell(from, &batch[i]); err != nil { // the node would only send it again
			s.log.Error("a report of a node is not taken", "node", from, "report", batch[i].Kind, "error", err)
		}
	}
	err := s.head.AwaitReports(s.ctx)
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, record.ErrClosed) {
		s.log.Error("reports of a node are not committed", "error", err)
	}
	return err == nil && s.head.LostReports() == lost
}

func (s *Server) acknowledge(n *node, number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n.committed = max(n.committed, number)
	n.acknowledge()
}

// tell makes one report.
func (s *Server) tell(from uint32, t *linkmsg.Told) error {
	switch t.Kind {
	case linkmsg.ActorReleased, linkmsg.ClassDropped:
		var a linkmsg.ActorRef
		if err := linkmsg.Decode("a report on an actor", t.Body, linkmsg.MaxHello, &a); err != nil {
			return err
		}
		if t.Kind == linkmsg.ActorReleased {
			s.head.ReleaseActor(a.ID)
		} else {
			s.head.DropCode(a.ID)
		}
	case linkmsg.OwnerDied:
		var o linkmsg.Owner
		if err := linkmsg.Decode("a report on a process", t.Body, linkmsg.MaxHello, &o); err != nil {
			return err
		}
		if o.ID.Node() != from {
			return fmt.Errorf("process %s is one of node %d", o.ID, o.ID.Node())
		}
		s.head.OwnerDied(o.ID)
	case linkmsg.BundlesPrepared:
		return s.tellPrepared(from, t)
	case linkmsg.BundlesKept:
		return s.tellKept(from, t)
	case linkmsg.JobEnded:
		var j linkmsg.JobEnd
		if err := linkmsg.Decode("a report on a job", t.Body, maxReport, &j); err != nil {
			return err
		}
		s.head.EndJob(j.ID, j.State, j.Message)
	default:
		var i linkmsg.InstanceTold
		if err := linkmsg.Decode("a report on an actor", t.Body, maxReport, &i); err != nil {
			return err
		}
		return s.tellInstance(from, t.Kind, &i)
	}
	return nil
}

// tellInstance makes one report on an incarnation of an actor.
func (s *Server) tellInstance(from uint32, kind linkmsg.Kind, t *linkmsg.InstanceTold) error {
	switch kind {
	case linkmsg.ActorStarted, linkmsg.ActorStartFailed, linkmsg.ActorWorkerDied, linkmsg.ActorExited:
		s.actorGone(t.Instance)
	}
	switch kind {
	case linkmsg.ActorStartFailed, linkmsg.ActorWorkerDied, linkmsg.ActorExited:
		s.endedThere(from, t.Instance)
	}
	switch kind {
	case linkmsg.ActorRefused:
		s.actorRefused(from, t)
	case linkmsg.ActorPlaced:
		s.head.ActorPlaced(t.Instance)
	case linkmsg.ActorStarted:
		s.head.ActorStarted(t.Instance)
	case linkmsg.ActorKept:
		s.head.ActorKept(t.Instance)
	case linkmsg.ActorStartFailed:
		s.head.ActorStartFailed(t.Instance, t.Cause)
	case linkmsg.ActorWorkerDied:
		s.head.ActorWorkerDied(t.Instance, t.Cause)
	case linkmsg.ActorExited:
		s.head.ActorExited(t.Instance, t.Cause)
	case linkmsg.ActorInfeasible:
		s.head.ActorInfeasible(t.Instance, t.Message)
	default:
		return fmt.Errorf("unknown report %q", kind)
	}
	return nil
}
