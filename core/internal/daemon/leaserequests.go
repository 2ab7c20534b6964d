package daemon

import (
	"cmp"
	"slices"

	"github.com/eagleray/eagleray/core/internal/groups"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/internal/strategy"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// define keeps what the daemon needs of a class; the daemon's lock is held.
func (c *client) define(id sched.ClassID, q *wire.ClassDefine) {
	wants := func(r map[string]int64) bool { return r[resource.GPU] > 0 || r[resource.GPUMemory] > 0 }
	if !wants(q.Resources) && !slices.ContainsFunc(q.Fallback, func(a wire.Alternative) bool { return wants(a.Resources) }) {
		return
	}
	if c.classes == nil {
		c.classes = make(map[sched.ClassID]class)
	}
	c.classes[id] = class{q.Name, q.Enforce}
}

// defineClass serves TClassDefine.
func (d *Daemon) defineClass(c *client, m *wire.Message) error {
	var q wire.ClassDefine
	if err := m.Decode(&q); err != nil {
		return err
	}
	if err := checkAmounts(q.Resources); err != nil {
		return err
	}
	if err := checkFallback(q.Fallback, q.AfterMs); err != nil {
		return err
	}
	where, err := strategy.Parse(q.Strategy)
	if err != nil {
		return err
	}
	k := sched.Class{ID: sched.ClassID(q.ClassID), Need: groups.Need(where, q.Resources), Env: q.EnvKey, Name: q.Name, Strategy: where, After: afterOf(q.AfterMs)}
	for _, o := range q.Fallback {
		k.Else = append(k.Else, sched.Choice{Need: groups.Need(where, o.Resources)})
	}
	d.awaitMemory(q.Resources)
	for _, o := range q.Fallback {
		d.awaitMemory(o.Resources)
	}
	d.schedule(c, func(s *sched.Machine) {
		c.define(k.ID, &q)
		s.DefineClass(c.id, k)
	})
	return nil
}

// retireClass serves TClassRetire.
func (d *Daemon) retireClass(c *client, m *wire.Message) error {
	var q wire.LeaseWant
	if err := m.Decode(&q); err != nil {
		return err
	}
	d.schedule(c, func(s *sched.Machine) {
		delete(c.classes, sched.ClassID(q.ClassID))
		s.RetireClass(c.id, sched.ClassID(q.ClassID))
	})
	return nil
}

// wantLeases serves TLeaseWant.
func (d *Daemon) wantLeases(c *client, m *wire.Message) error {
	var q wire.LeaseWant
	if err := m.Decode(&q); err != nil {
		return err
	}
	d.schedule(c, func(s *sched.Machine) {
		c.outlivesDriver = c.outlivesDriver || c.role == wire.RoleGuest && q.Lasting
		s.UpdateWant(c.id, sched.ClassID(q.ClassID), sched.WantUpdate{N: min(q.Want, maxWanted), Seen: q.Seen, Due: q.Due, Next: afterOf(q.DueMs), Near: d.pulls.Near(&q, sched.MaxNear), Ticket: q.Ticket, Recall: q.Recall})
	})
	return nil
}

// returnLease serves TLeaseReturn.
func (d *Daemon) returnLease(c *client, m *wire.Message) error {
	var q wire.LeaseReturn
	if err := m.Decode(&q); err != nil {
		return err
	}
	d.schedule(c, func(s *sched.Machine) {
		if q.Exiting {
			if w := d.workers[s.WorkerOf(c.id, sched.LeaseID(q.LeaseID))]; w != nil {
				d.table.ExpectEnd(w.Worker, leaveGrace)
			}
		}
		if !q.Unusable { // else LeaseBroken says what the worker had begun
			c.begun.GiveBack(q.LeaseID)
		}
		s.Return(c.id, sched.LeaseID(q.LeaseID), q.Exiting, q.Unusable)
	})
	return nil
}

// moveLease serves TLeaseMove.
func (d *Daemon) moveLease(c *client, m *wire.Message) error {
	var q wire.LeaseMove
	if err := m.Decode(&q); err != nil {
		return err
	}
	d.schedule(c, func(s *sched.Machine) { s.Move(c.id, sched.LeaseID(q.LeaseID), sched.ClassID(q.ClassID)) })
	return nil
}

// blocked serves TBlocked. A driver holds nothing that it could give back.
func (d *Daemon) blocked(c *client, _ *wire.Message) error {
	if c.worker != nil {
		d.schedule(c, func(s *sched.Machine) { s.Block(c.worker.id) })
	}
	return nil
}

// unblocked serves TUnblocked.
func (d *Daemon) unblocked(c *client, _ *wire.Message) error {
	if c.worker != nil {
		d.schedule(c, func(s *sched.Machine) { s.Unblock(c.worker.id) })
	}
	return nil
}

// explainWait serves TWhoHolds: it says what a class or an actor waits for.
func (d *Daemon) explainWait(c *client, m *wire.Message) error {
	var q wire.ClassTrouble
	if err := m.Decode(&q); err != nil {
		return err
	}
	why := d.explain(c, &q)
	if why != "" && d.o.OtherReleases != nil {
		if text := d.o.OtherReleases(); text != "" {
			why += "; " + text
		}
	}
	return m.Reply(cmp.Or(why, "nothing of it waits for a worker"))
}

// explain says what a class of a process, or an actor, waits for; "" if it waits for nothing.
func (d *Daemon) explain(c *client, q *wire.ClassTrouble) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(q.ActorID) > 0 {
		return d.explainActor(q.ActorID)
	}
	return d.m.Explain(c.id, sched.ClassID(q.ClassID))
}
