package daemon

import (
	"context"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/internal/workers"
	"github.com/eagleray/eagleray/core/record"
)

// quietHead is a head that is told things and answers nothing.
type quietHead struct{ Head }

func (quietHead) ActorPlaced(record.Instance)                    {}
func (quietHead) ActorStarted(record.Instance)                   {}
func (quietHead) ActorStartFailed(record.Instance, record.Cause) {}
func (quietHead) OwnerDied(ids.Owner)                            {}
func (quietHead) EndJob(ids.Job, record.JobState, string)        {}
func (quietHead) ActorsOf(context.Context, record.ActorFilter) ([]record.Actor, error) {
	return nil, nil
}

// scripted returns a daemon whose scheduler orders workers that the test makes ready. No
// zygote is asked to fork them.
func scripted(t *testing.T) (*Daemon, *job) {
	d, j := opened(t)
	d.SetHead(quietHead{})
	d.perform = func(a sched.Action, end workers.End) {
		if s, ok := a.(sched.StartWorker); ok {
			d.addWorker(s.Worker, j, s.Env)
			return
		}
		d.carryOut(a, end)
	}
	return d, j
}

// comesUp connects all workers that were ordered, and makes them ready; mu held.
func comesUp(t *testing.T, d *Daemon) (up []*worker) {
	t.Helper()
	for _, w := range d.workers {
		if w.client != nil {
			continue
		}
		c := connected(t, wire.RoleWorker)
		d.lastClient++
		c.id, c.self, c.job, c.worker = d.lastClient, w.self, w.job, w
		d.clients[c.id], d.owners[c.self.Owner()] = c, c
		d.workerConnected(c)
		d.workerReady(w)
		up = append(up, w)
	}
	return up
}

// waitingActor returns the record of an actor that the daemon can place.
func waitingActor(t *testing.T, j *job, detached bool) record.Actor {
	t.Helper()
	spec, err := msgpack.Marshal(actorSpec{Code: [][]byte{nil}})
	if err != nil {
		t.Fatal(err)
	}
	return record.Actor{
		ID: ids.NewActor(j.ID), Job: j.ID, ClassName: "A", EnvKey: "env", Detached: detached, Spec: spec,
		Incarnation: record.FirstIncarnation, Resources: record.Resources{resource.CPU: int64(resource.Unit)}, RunResources: record.Resources{resource.CPU: int64(resource.Unit)},
	}
}

// The scheduler may choose an idle worker whose process has just gone, since it hears of that
// end last. The actor then gets another worker.
func TestActorPlaced_WorkerIsGoneAlready_ActorGetsAnother(t *testing.T) {
	d, j := scripted(t)
	rec := waitingActor(t, j, false)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.event(func(m *sched.Machine) { m.AddJob(j.ID, "env") })
	idle := comesUp(t, d)
	if len(idle) != 1 {
		t.Fatalf("%d workers are idle, want 1", len(idle))
	}
	d.forget(idle[0])
	d.place(&actor{rec: rec, replaced: 3})
	d.event(func(m *sched.Machine) { m.WorkerGone(idle[0].id) })
	comesUp(t, d) // the actor's, and one that the scheduler has started after what it took for a crash
	a := d.actors[rec.ID]
	if a == nil || a.worker == nil || a.worker == idle[0] || a.worker.actor != a || a.replaced != 3 {
		t.Fatalf("the actor's row is %+v", a)
	}
	if free := d.m.Free()[resource.CPU]; free != 3*resource.Unit {
		t.Errorf("%d units of CPU are free, want those of three CPUs", free)
	}
}

// An actor that is not wanted any more when its worker is found to be gone is placed no more.
func TestActorPlaced_WorkerIsGoneAndActorTooIs_NothingIsPlaced(t *testing.T) {
	d, j := scripted(t)
	rec := waitingActor(t, j, false)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.actorPlaced(sched.StartActor{Actor: sched.ActorID{Actor: rec.ID, Incarnation: 1}, Worker: 7})
	if len(d.actors) != 0 || len(d.workers) != 0 {
		t.Errorf("%d actors and %d workers", len(d.actors), len(d.workers))
	}
	d.actors[rec.ID] = &actor{rec: rec}
	d.actorPlaced(sched.StartActor{Actor: sched.ActorID{Actor: rec.ID, Incarnation: 2}, Worker: 7})
	if len(d.workers) != 0 {
		t.Error("an order for another incarnation places this one")
	}
}

// A worker that was given a detached actor may decline it, because others need what the
// worker owns. What it owns then is its driver's, as it was before.
func TestSuccessor_WorkerDeclinesADetachedActor_SuccessorBelongsToTheDriver(t *testing.T) {
	for _, begins := range []bool{false, true} {
		d, j := scripted(t)
		rec := waitingActor(t, j, true)
		d.mu.Lock()
		j.detached = true
		d.place(&actor{rec: rec})
		up := comesUp(t, d)
		if len(up) != 1 || up[0].actor == nil {
			t.Fatalf("%d workers come up, and the actor has none of them", len(up))
		}
		w := up[0]
		w.client.pid = 7
		if w.endsWithDriver() {
			t.Error("the worker of a detached actor ends with the driver")
		}
		d.mu.Unlock()
		if begins {
			if _, _, err := d.creationBegins(w.self.Owner(), 7); err != nil {
				t.Fatal(err)
			}
		}
		successor := connected(t, wire.RoleSuccessor)
		successor.self, successor.job, successor.predecessor = ids.NewWorkerOn(1), j, w.client
		if !d.enlist(successor) {
			t.Fatal("the daemon is closing")
		}
		if _, err := d.takeOver(successor); err != nil {
			t.Fatal(err)
		}
		d.mu.Lock()
		d.driverLeaves(j, record.JobLost, "its driver is gone")
		if successor.outlives() != begins || successor.gone == begins {
			t.Errorf("the worker had begun the actor %v: its successor outlives the driver %v, and is dropped %v", begins, successor.outlives(), successor.gone)
		}
		if w.Dismissed() {
			t.Error("the worker of a detached actor is ended with the driver")
		}
		d.mu.Unlock()
	}
}

// Events that an order causes are heard at once, and what the scheduler orders then follows
// after the orders that were given before.
func TestAct_OrderCausesAnEvent_OrdersKeepTheirTurn(t *testing.T) {
	d, j := opened(t)
	var seen []sched.WorkerID
	d.perform = func(a sched.Action, _ workers.End) {
		s, ok := a.(sched.StartWorker)
		if !ok {
			t.Fatalf("unexpected order %s", a)
		}
		if seen = append(seen, s.Worker); len(seen) == 1 {
			d.event(func(m *sched.Machine) { m.AddJob(ids.JobOf(9), "third") })
			if len(seen) != 1 {
				t.Errorf("the order of the nested event was carried out before an earlier one: %v", seen)
			}
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.event(func(m *sched.Machine) {
		m.AddJob(j.ID, "first")
		m.AddJob(ids.JobOf(8), "second")
	})
	if len(seen) != 3 || d.acting {
		t.Errorf("the workers %v were ordered, want three; orders are still carried out: %v", seen, d.acting)
	}
}

// The head makes a new incarnation when the one before has ended. If the order to stop that one was lost, the new one says it.
func TestPlaceActor_IncarnationBeforeStillRuns_IsEnded(t *testing.T) {
	d, j := scripted(t)
	rec := waitingActor(t, j, false)
	next := rec
	next.Incarnation++
	old := func() *actor {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.event(func(m *sched.Machine) { m.AddJob(j.ID, "env") })
		comesUp(t, d)
		d.place(&actor{rec: rec})
		return d.actors[rec.ID]
	}()
	if got := d.Actors(); old.worker == nil || len(got) != 1 || got[0].Incarnation != 1 || got[0].Worker != old.worker.self || got[0].Node != d.o.Node {
		t.Fatalf("the daemon has %+v", got)
	}
	d.PlaceActor(next, 0)
	if !old.endReported || old.worker.Reason() != wire.ExitEnded {
		t.Errorf("the incarnation before is not ended: %+v", old)
	}
	if got := d.Actors(); len(got) != 1 || got[0].Incarnation != 2 {
		t.Errorf("the daemon has %+v", got)
	}
}
