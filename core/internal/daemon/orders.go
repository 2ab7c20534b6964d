package daemon

import (
	"fmt"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/pressure"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/internal/workers"
)

// carryOut carries out one order of the scheduler. End is how the worker ended from whose
// end the order follows; mu held.
func (d *Daemon) carryOut(a sched.Action, end workers.End) {
	switch a := a.(type) {
	case sched.StartWorker:
		d.startWorker(a)
	case sched.StopWorker:
		if w := d.workers[a.Worker]; w != nil {
			d.table.End(w.Worker, exitGrace)
		}
	case sched.Grant:
		d.grant(a)
	case sched.Recall:
		if c := d.clients[a.Client]; c != nil {
			_ = c.peer.Push(wire.TLeaseRecall, wire.LeaseRef{LeaseID: uint64(a.Lease)})
		}
	case sched.Wanted:
		if c := d.clients[a.Client]; c != nil {
			_ = c.peer.Push(wire.TLeaseWanted, wire.LeaseRef{LeaseID: uint64(a.Lease)})
		}
	case sched.Broken:
		if c := d.clients[a.Client]; c != nil {
			b := wire.LeaseBroken{LeaseID: uint64(a.Lease), Detail: end.Detail, Code: string(end.Code), Bytes: end.Bytes}
			b.Begun, b.Known = c.begun.GiveBack(b.LeaseID)
			if end.Code == fault.OutOfMemory {
				b.Memory = d.mostMemory()
			}
			_ = c.peer.Push(wire.TLeaseBroken, b)
		}
	case sched.ClassFailed:
		if c := d.clients[a.Client]; c != nil {
			_ = c.peer.Push(wire.TClassInfeasible, wire.ClassTrouble{ClassID: uint32(a.Class), Message: a.Message, Code: string(a.Code)})
		}
	case sched.StartActor:
		d.actorPlaced(a)
	case sched.ActorFailed:
		d.actorFailed(a)
	case sched.Refused:
		if c := d.clients[a.Client]; c != nil {
			_ = c.peer.Push(wire.TLeaseRefused, wire.LeaseRefused{ClassID: uint32(a.Class), N: a.N, Ticket: a.Ticket})
		}
	default:
		if !d.groups.CarryOut(a, d.m) {
			d.overflow.CarryOut(a, d.m)
		}
	}
}

// mostMemory returns the most of the resource memory that one living node has; mu held.
func (d *Daemon) mostMemory() int64 {
	most := int64(d.m.Totals()["memory"])
	if d.o.MostMemory != nil {
		most = max(most, d.o.MostMemory())
	}
	return most
}

// startWorker adds a worker and has it forked; mu held.
func (d *Daemon) startWorker(a sched.StartWorker) {
	j := d.jobs[a.Job]
	if j == nil {
		d.event(func(m *sched.Machine) { m.WorkerFailed(a.Worker, fmt.Sprintf("job %s is not known", a.Job)) })
		return
	}
	d.table.Start(d.addWorker(a.Worker, j, a.Env).Worker)
}

// grant tells a client that it has a lease; mu held.
func (d *Daemon) grant(a sched.Grant) {
	c, w := d.clients[a.Client], d.workers[a.Worker]
	if c == nil || w == nil { // it is gone; the scheduler will hear of it
		d.m.Undelivered(a)
		return
	}
	w.outlives = w.outlives || c.outlives() // what it put for a detached actor stays its own
	of := c.classes[a.Class]
	d.gpus.Assign(pressure.Given{Worker: uint64(w.id), Pid: w.Pid(), Name: of.name, Hold: a.Hold, Enforce: of.enforce})
	if c.role == wire.RoleGuest {
		d.guestLeased(c, a.Lease)
	}
	_ = c.peer.Push(wire.TLeaseGrant, wire.LeaseGrant{
		ClassID: uint32(a.Class), LeaseID: uint64(a.Lease), WorkerID: w.self[:],
		Addr: wire.AddressOf(w.self.Owner()), Pid: w.Pid(), Assignment: d.assignment(w, a.Hold),
		Choice: a.Choice, Better: a.Better, Never: a.Never,
	})
}
