package daemon

import (
	"errors"
	"maps"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/internal/pressure"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// actorSpec is the part of an actor's replicated record that is for its worker.
type actorSpec struct {
	//lint:ignore U1000 msgpack reads the tag
	_msgpack struct{} `msgpack:",as_array"`
	Token    string
	Spec     []byte
	Classes  [][]byte // the templates of the fallback's classes
	Enforce  bool     // see wire.ActorCreate
	Code     [][]byte // of the class, then of the fallback's classes: see wire.ActorCreate
}

// actorPlaced gives an actor its worker; mu held.
func (d *Daemon) actorPlaced(s sched.StartActor) {
	a, w := d.actors[s.Actor.Actor], d.workers[s.Worker]
	wanted := a != nil && a.rec.Incarnation == s.Actor.Incarnation
	if w == nil {
		// The worker's process is gone, and the scheduler is told of that after this
		// order. The scheduler has forgotten the actor when it gave this order.
		if wanted {
			d.place(&actor{rec: a.rec, replaced: a.replaced})
		}
		return
	}
	if !wanted {
		d.table.End(w.Worker, exitGrace)
		return
	}
	a.worker, w.actor = w, a
	a.outlives = a.rec.Detached || d.ownerOutlives(&a.rec)
	var spec actorSpec
	err := wire.Check(a.rec.Spec, wire.MaxValues)
	if err == nil {
		err = msgpack.Unmarshal(a.rec.Spec, &spec)
	}
	if err == nil && (len(spec.Classes) != len(a.rec.Fallback) || len(spec.Code) != len(a.rec.Fallback)+1) {
		err = errors.New("its numbers of classes and alternatives differ")
	}
	if err != nil {
		a.endReported = true
		d.head.ActorStartFailed(a.instance(), record.Cause{Reason: record.StartFailed, Message: "its specification is damaged: " + err.Error()})
		d.table.End(w.Worker, exitGrace)
		return
	}
	if a.rec.MaxRestarts != 0 {
		d.ends.Begin(a.endID())
	}
	d.gpus.Assign(pressure.Given{Worker: uint64(w.id), Pid: w.Pid(), Actor: true, Name: a.rec.ClassName, Hold: s.Hold, Enforce: spec.Enforce})
	if a.rec.Node != d.o.Node { // else the head has committed it
		i := a.instance()
		i.Node = d.o.Node
		d.head.ActorPlaced(i)
	}
	start := wire.ActorStart{
		ActorID: a.rec.ID[:], Name: a.rec.Name, Namespace: a.rec.Namespace, ClassName: a.rec.ClassName,
		Incarnation: a.rec.Incarnation, MaxConcurrency: a.rec.MaxConcurrency,
		Assignment: d.assignment(w, s.Hold), Spec: spec.Spec, Token: spec.Token, Meta: a.rec.Meta,
		Restarts: a.rec.MaxRestarts != 0, Exclusive: a.rec.Exclusive, Code: spec.Code[0], Strategy: a.rec.Strategy,
	}
	if s.Choice > 0 {
		if o := a.rec.Fallback[s.Choice-1]; o.ClassName != "" {
			start.ClassName, start.MaxConcurrency, start.Template = o.ClassName, o.MaxConcurrency, spec.Classes[s.Choice-1]
			start.Code = spec.Code[s.Choice]
		}
	}
	_ = w.client.peer.Push(wire.TActorStart, start)
}

// beginCreation notes that the worker of an actor has begun to create it: the worker does
// not decline the actor any more. What the worker hands over to a successor from now on
// outlives the driver, if the actor does; mu held.
func (d *Daemon) beginCreation(a *actor) {
	a.creating = true
	a.worker.outlives = a.worker.outlives || a.outlives
}

// actorReady tells the head that the actor's constructor has ended, and how; mu held.
func (d *Daemon) actorReady(w *worker, r *wire.ActorReady) {
	a := w.actor
	if a == nil || a.endReported || string(r.ActorID) != string(a.rec.ID[:]) || r.Incarnation != a.rec.Incarnation {
		return
	}
	if r.Message != "" || len(r.Error) > 0 {
		a.endReported = true
		delete(d.failedStarts, a.rec.ID)
		d.head.ActorStartFailed(d.located(a), record.Cause{Reason: record.StartFailed, Message: r.Message, Error: r.Error})
		d.table.End(w.Worker, exitGrace)
		return
	}
	d.beginCreation(a)
	a.created, a.lateRefs, w.repr = true, r.Unregistered, r.Repr[:min(len(r.Repr), wire.MaxRepr)]
	delete(d.failedStarts, a.rec.ID)
	d.head.ActorStarted(d.located(a))
}

// located returns the instance with the place where it runs.
func (d *Daemon) located(a *actor) record.Instance {
	i := a.instance()
	i.Node, i.Worker, i.Pid = d.o.Node, a.worker.self, a.worker.Pid()
	i.Address, i.LateRefs = wire.AddressOf(a.worker.self.Owner()), a.lateRefs
	return i
}

// overrideOnZero is the variable by which a job keeps the accelerators visible
// to workers that were given none.
const overrideOnZero = "EAGLERAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"

// assignment returns what a lease or an actor holds, as its worker is told.
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
