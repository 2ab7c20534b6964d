package daemon

import (
	"maps"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/pressure"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/core/resource"
	"github.com/eagleray/eagleray/core/sched"
	"github.com/eagleray/eagleray/core/wire"
	"github.com/eagleray/eagleray/core/workers"
)

// do carries out one action of the scheduler. End is how the worker ended whose end
// the action follows from; mu held.
func (d *Daemon) do(a sched.Action, end workers.End) {
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
			_ = c.peer.Push(wire.TLeaseBroken, wire.LeaseBroken{LeaseID: uint64(a.Lease), Detail: end.Detail, Code: string(end.Code), Bytes: end.Bytes})
		}
	case sched.ClassFailed:
		if c := d.clients[a.Client]; c != nil {
			_ = c.peer.Push(wire.TClassInfeasible, wire.ClassTrouble{ClassID: uint32(a.Class), Message: a.Message, Code: string(a.Code)})
		}
	case sched.StartActor:
		d.actorPlaced(a)
	case sched.ActorFailed:
		d.actorFailed(a)
	}
}

func (d *Daemon) grant(a sched.Grant) {
	c, w := d.clients[a.Client], d.workers[a.Worker]
	if c == nil || w == nil { // it is gone; the scheduler will hear of it
		d.m.Undelivered(a)
		return
	}
	w.outlives = c.outlives()
	of := c.classes[a.Class]
	d.gpus.Assign(pressure.Given{Worker: uint64(w.id), Pid: w.Pid(), Name: of.name, Hold: a.Hold, Enforce: of.enforce})
	_ = c.peer.Push(wire.TLeaseGrant, wire.LeaseGrant{
		ClassID: uint32(a.Class), LeaseID: uint64(a.Lease), WorkerID: w.self[:],
		Addr: d.socketOf(w.self.Owner()), Pid: w.Pid(), Assignment: d.assignment(w, a.Hold),
		Choice: a.Choice, Better: a.Better, Never: a.Never,
	})
}

// overrideOnZero is the variable by which a job keeps the accelerators visible
// to workers that were given none.
const overrideOnZero = "EAGLERAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"

// assignment is what a lease or an actor holds, as its worker is told.
func (d *Daemon) assignment(w *worker, hold *resource.Allocation) wire.Assignment {
	ids := hold.DeviceIDs()
	env := maps.Clone(d.o.Devices.Env(ids))
	if env == nil {
		env = make(map[string]string)
	}
	if !w.keepsVisible() {
		maps.Copy(env, d.o.Devices.ZeroEnv(ids))
	}
	return wire.Assignment{Resources: hold.Resources().Wire(), Devices: ids, Env: env, IntIDs: d.o.Devices.IntIDs()}
}

// keepsVisible reports whether the job's environment asks to leave the
// visibility variables of unused accelerators alone.
func (w *worker) keepsVisible() bool {
	if s := w.job.Env(w.Env()); s != nil {
		for _, name := range []string{overrideOnZero, "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"} {
			if v, ok := s.Env[name]; ok {
				return v == "0"
			}
			if v, ok := s.JobEnv[name]; ok {
				return v == "0"
			}
		}
	}
	return false
}

// actorFailed: a waiting actor gets no worker; mu held.
func (d *Daemon) actorFailed(a sched.ActorFailed) {
	x := d.actors[a.Actor.Actor]
	if x == nil || x.rec.Incarnation != a.Actor.Incarnation {
		return
	}
	if a.Code == fault.ActorUnschedulable {
		d.head.ActorInfeasible(x.instance(), a.Message)
		return
	}
	delete(d.actors, x.rec.ID)
	delete(d.falls, x.rec.ID)
	d.incarnationGone(&x.rec)
	d.head.ActorStartFailed(x.instance(), record.Cause{Reason: record.EnvFailed, Message: a.Message})
}
