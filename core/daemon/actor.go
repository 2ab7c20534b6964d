package daemon

import (
	"errors"
	"fmt"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/pressure"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/core/resource"
	"github.com/eagleray/eagleray/core/sched"
	"github.com/eagleray/eagleray/core/wire"
	"github.com/eagleray/eagleray/core/workers"
)

// actor is an incarnation that this node places or runs. The daemon's lock
// guards it.
type actor struct {
	rec     record.Actor
	worker  *worker       // nil while it waits
	drains  bool          // told to end after the calls that have arrived
	settled bool          // its end was reported, or nobody wants to hear of it
	begun   bool          // its worker has read what it is to become
	ready   bool          // its constructor has ended
	unbegun int           // workers that died before they had read it
	resting time.Duration // that it is not placed for, see falls.go
	late    bool          // its constructor got references that were not registered when it had ended
}

func (a *actor) key() sched.ActorID {
	return sched.ActorID{Actor: a.rec.ID, Incarnation: a.rec.Incarnation}
}

func (a *actor) instance() record.Instance {
	return record.Instance{Actor: a.rec.ID, Incarnation: a.rec.Incarnation}
}

// actorSpec is what the replicated record carries for the actor's worker.
type actorSpec struct {
	//lint:ignore U1000 msgpack reads the tag
	_msgpack struct{} `msgpack:",as_array"`
	Token    string
	Spec     []byte
	Classes  [][]byte // the templates of the fallback's classes
	Enforce  bool     // see wire.ActorCreate
	Code     [][]byte // of the class, then of the fallback's classes: see wire.ActorCreate
}

// createActor registers an actor; the head then calls PlaceActor.
func (d *Daemon) createActor(c *client, m *wire.Message) {
	var q wire.ActorCreate
	if err := m.Decode(&q); err != nil {
		_ = m.Fail(err)
		return
	}
	d.awaitMemory(q.Resources)
	rec, err := d.actorRecord(c, &q)
	if err == nil {
		err = d.mayCreate(c, &rec)
	}
	if err != nil {
		_ = m.Fail(err)
		return
	}
	ctx, cancel := d.headContext()
	defer cancel()
	for range 3 { // the namesake may die between the two questions
		err = d.head.CreateActor(ctx, rec)
		var taken *record.NameTakenError
		if !q.GetIfExists || !errors.As(err, &taken) {
			break
		}
		old, found := d.head.Actor(taken.Existing)
		if found == nil && old.Live() {
			_ = m.Reply(wire.ActorCreated{Existing: &wire.ActorNamed{ActorID: old.ID[:], Meta: old.Meta}})
			return
		}
	}
	if err != nil {
		_ = m.Fail(err)
		return
	}
	d.codeClaimed(c, rec.ID)
	_ = m.Reply(wire.ActorCreated{})
}

func (d *Daemon) actorRecord(c *client, q *wire.ActorCreate) (rec record.Actor, err error) {
	if len(q.ActorID) != ids.ActorSize || len(q.OwnerID) != ids.OwnerSize {
		return rec, fault.New(fault.BadRequest, "actor %s: ids of the wrong length", q.ClassName)
	}
	d.mu.Lock()
	j := c.job
	if j != nil && q.Detached {
		j.detached = true
	}
	d.mu.Unlock()
	if j == nil {
		return rec, fault.New(fault.BadRequest, "actor %s: the process that creates it has no job", q.ClassName)
	}
	if err := errors.Join(checkAmounts(q.Resources), checkAmounts(q.RunResources), checkFallback(q.Fallback, q.AfterMs)); err != nil {
		return rec, fmt.Errorf("actor %s: %w", q.ClassName, err)
	}
	kept := actorSpec{Token: q.Token, Spec: q.Spec, Enforce: q.Enforce, Code: [][]byte{q.Code}}
	var fallback []record.Alternative
	for _, o := range q.Fallback {
		kept.Classes, kept.Code = append(kept.Classes, o.Template), append(kept.Code, o.Code)
		fallback = append(fallback, record.Alternative{Resources: o.Resources, RunResources: o.RunResources, ClassName: o.ClassName, MaxConcurrency: o.MaxConcurrency})
	}
	code, err := codeIDs(kept.Code)
	if err != nil {
		return rec, fault.New(fault.BadRequest, "actor %s: %v", q.ClassName, err)
	}
	spec, err := msgpack.Marshal(kept)
	if err != nil {
		return rec, fault.New(fault.BadRequest, "actor %s: %v", q.ClassName, err)
	}
	return record.Actor{
		ID: ids.Actor(q.ActorID), Job: j.ID, Name: q.Name, Namespace: q.Namespace, ClassName: q.ClassName,
		Detached: q.Detached, Owner: ids.Owner(q.OwnerID), OwnerAddr: q.OwnerAddr,
		Resources: q.Resources, RunResources: q.RunResources, Fallback: fallback, AfterMs: q.AfterMs, EnvKey: q.EnvKey,
		MaxRestarts: q.MaxRestarts, MaxConcurrency: q.MaxConcurrency, MaxPendingCalls: q.MaxPendingCalls,
		Spec: spec, Code: code, Meta: q.Meta, CreatedMs: time.Now().UnixMilli(),
	}, nil
}

// PlaceActor queues an incarnation for a worker. The head calls it.
func (d *Daemon) PlaceActor(rec record.Actor) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if old := d.actors[rec.ID]; old != nil && old.rec.Incarnation >= rec.Incarnation {
		return
	}
	d.place(&actor{rec: rec})
}

// place queues an incarnation; mu held.
func (d *Daemon) place(a *actor) {
	rec := &a.rec
	d.actors[rec.ID] = a
	j := d.jobs[rec.Job]
	if d.actorOver(j, rec) {
		delete(d.actors, rec.ID)
		delete(d.falls, rec.ID)
		d.head.ActorStartFailed(a.instance(), record.Cause{Reason: record.JobEnded, Message: "its job has ended"})
		return
	}
	k := sched.Class{Need: resource.FromWire(rec.Resources), Env: rec.EnvKey, Name: rec.ClassName, After: afterOf(rec.AfterMs)}
	for _, o := range rec.Fallback {
		k.Else = append(k.Else, sched.Choice{Need: resource.FromWire(o.Resources), Run: resource.FromWire(o.RunResources)})
	}
	d.afterFalls(a, func() {
		d.event(func(m *sched.Machine) {
			m.PlaceActor(a.key(), rec.Job, k, resource.FromWire(rec.RunResources))
			if j.ended {
				m.RemoveJob(rec.Job) // so that only this actor's worker comes of it
			}
		})
	})
}

// StopActor ends an incarnation. The head calls it.
func (d *Daemon) StopActor(i record.Instance, drain bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.actors[i.Actor]
	if a == nil || a.rec.Incarnation != i.Incarnation {
		return
	}
	w := a.worker
	switch {
	case w == nil:
		delete(d.actors, i.Actor)
		delete(d.falls, i.Actor)
		d.event(func(m *sched.Machine) { m.CancelActor(a.key()) })
		d.incarnationGone(&a.rec)
	case drain:
		a.drains = true
		if p := w.Peer(); p != nil {
			_ = p.Push(wire.TActorStop, nil)
		}
	default:
		d.endNow(a)
	}
}

// endNow kills the worker of an actor. Nothing of it runs any more, as under
// Ray: neither exit handlers nor the rest of a call; mu held.
func (d *Daemon) endNow(a *actor) {
	w := a.worker
	a.settled = true
	delete(d.falls, a.rec.ID)
	d.event(func(m *sched.Machine) { m.Leaving(w.id) })
	if w.Reason() == "" {
		w.SetReason("killed")
	}
	if a.begun || w.Peer() == nil {
		d.table.Kill(w.Worker)
		return
	}
	// The worker has not said that it has become the actor. It may be declining, because
	// others need what it owns: then it ends by itself, when that has moved.
	d.table.EndUnlessNeeded(w.Worker, exitGrace)
}

// actorPlaced gives an actor its worker; mu held.
func (d *Daemon) actorPlaced(s sched.StartActor) {
	a, w := d.actors[s.Actor.Actor], d.workers[s.Worker]
	if w == nil {
		return // it is gone; the scheduler will hear of it
	}
	if a == nil || a.rec.Incarnation != s.Actor.Incarnation || w.client == nil {
		d.table.End(w.Worker, exitGrace)
		return
	}
	a.worker, w.actor = w, a
	w.outlives = a.rec.Detached || d.ownerOutlives(&a.rec)
	var spec actorSpec
	err := wire.Check(a.rec.Spec, wire.MaxValues)
	if err == nil {
		err = msgpack.Unmarshal(a.rec.Spec, &spec)
	}
	if err == nil && (len(spec.Classes) != len(a.rec.Fallback) || len(spec.Code) != len(a.rec.Fallback)+1) {
		err = errors.New("it has another number of classes than alternatives")
	}
	if err != nil {
		a.settled = true
		d.head.ActorStartFailed(a.instance(), record.Cause{Reason: record.StartFailed, Message: "its specification is damaged: " + err.Error()})
		d.table.End(w.Worker, exitGrace)
		return
	}
	d.lifeBegins(a)
	i := a.instance()
	i.Node = d.o.Node
	d.gpus.Assign(pressure.Given{Worker: uint64(w.id), Pid: w.Pid(), Actor: true, Name: a.rec.ClassName, Hold: s.Hold, Enforce: spec.Enforce})
	d.head.ActorPlaced(i)
	start := wire.ActorStart{
		ActorID: a.rec.ID[:], Name: a.rec.Name, Namespace: a.rec.Namespace, ClassName: a.rec.ClassName,
		Incarnation: a.rec.Incarnation, MaxConcurrency: a.rec.MaxConcurrency,
		Assignment: d.assignment(w, s.Hold), Spec: spec.Spec, Token: spec.Token, Meta: a.rec.Meta,
		Restarts: a.rec.MaxRestarts != 0, Code: spec.Code[0],
	}
	if s.Choice > 0 {
		if o := a.rec.Fallback[s.Choice-1]; o.ClassName != "" {
			start.ClassName, start.MaxConcurrency, start.Template = o.ClassName, o.MaxConcurrency, spec.Classes[s.Choice-1]
			start.Code = spec.Code[s.Choice]
		}
	}
	_ = w.client.peer.Push(wire.TActorStart, start)
}

// actorReady: the constructor has ended; mu held.
func (d *Daemon) actorReady(w *worker, r *wire.ActorReady) {
	a := w.actor
	if a == nil || a.settled || string(r.ActorID) != string(a.rec.ID[:]) || r.Incarnation != a.rec.Incarnation {
		return
	}
	if r.Message != "" || len(r.Error) > 0 {
		a.settled = true
		delete(d.falls, a.rec.ID)
		d.head.ActorStartFailed(d.located(a), record.Cause{Reason: record.StartFailed, Message: r.Message, Error: r.Error})
		d.table.End(w.Worker, exitGrace)
		return
	}
	a.begun, a.ready, a.late = true, true, r.Unsettled
	delete(d.falls, a.rec.ID)
	d.head.ActorStarted(d.located(a))
}

// registersLate reports whether an actor's constructor had ended before all references that it got were registered.
func (d *Daemon) registersLate(r *record.Actor) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.actors[r.ID]
	return a != nil && a.late && a.rec.Incarnation == r.Incarnation
}

// located is the instance with the place where it runs.
func (d *Daemon) located(a *actor) record.Instance {
	i := a.instance()
	i.Node, i.Worker, i.Pid = d.o.Node, a.worker.self, a.worker.Pid()
	i.Address = d.socketOf(a.worker.self.Owner())
	return i
}

// actorEnded handles the end of an actor's worker; mu held.
func (d *Daemon) actorEnded(w *worker, end workers.End) {
	a := w.actor
	if d.actors[a.rec.ID] == a {
		delete(d.actors, a.rec.ID)
	}
	if d.placeAgain(a, w) {
		return
	}
	if len(a.rec.Code) > 0 {
		d.restSoon()
	}
	d.lifeEnds(a.key(), end.Detail)
	d.incarnationGone(&a.rec)
	if a.settled {
		return
	}
	a.settled = true
	switch {
	case end.Code != "":
		if !a.rec.MayRestart() {
			delete(d.falls, a.rec.ID)
		}
		d.head.ActorWorkerDied(d.located(a), record.Cause{Reason: reasonOf(end.Code), Message: end.Detail})
	case a.drains || w.Reason() != "" && w.Reason() != wire.ExitForced: // nobody cancels an actor with force: that end is none of its own
		delete(d.falls, a.rec.ID)
		d.head.ActorExited(d.located(a), record.Cause{Message: w.Reason()})
	default: // with status 0 too: it ended without a word
		d.fell(a)
		d.head.ActorWorkerDied(d.located(a), record.Cause{Message: end.Detail})
	}
}

func reasonOf(excess fault.Code) record.Reason {
	if excess == fault.OutOfMemory {
		return record.OutOfMemory
	}
	return record.GPUMemory
}

// explainActor says what an actor that does not run waits for; d.mu held.
func (d *Daemon) explainActor(raw []byte) string {
	var id ids.Actor
	copy(id[:], raw)
	a := d.actors[id]
	switch {
	case a == nil:
		return "it is not placed on this node"
	case a.resting > 0:
		return fmt.Sprintf("its worker died %d times in a row before its constructor had ended; the next one starts %v after the last", d.falls[id], a.resting)
	case a.worker != nil:
		return fmt.Sprintf("its constructor runs in worker pid %d", a.worker.Pid())
	}
	return d.m.ExplainActor(a.key())
}
