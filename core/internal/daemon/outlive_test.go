package daemon

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/tests/await"
)

// actorsHead is a head that knows one list of actors.
type actorsHead struct {
	endHead
	actors *[]record.Actor
}

func (h actorsHead) ActorsOf(_ context.Context, f record.ActorFilter) (list []record.Actor, err error) {
	for _, a := range *h.actors {
		if f.Match(&a) {
			list = append(list, a)
		}
	}
	return list, nil
}

// While a detached actor of a job lives, its driver's end ends what belongs to the
// driver, and not what comes from the actor. The job ends with its last detached actor.
func TestEndJob_DetachedActorLives_WhatItHasSubmittedGoesOn(t *testing.T) {
	d, j := opened(t)
	j.detached = true
	var told []string
	actors := []record.Actor{
		{ID: ids.Actor{1}, Job: j.ID, Detached: true, State: record.ActorAlive},
		{ID: ids.Actor{2}, Job: ids.JobOf(2), Detached: true, State: record.ActorAlive}, // of another job
		{ID: ids.Actor{3}, Job: j.ID, State: record.ActorAlive},
	}
	d.SetHead(actorsHead{endHead{ended: &told}, &actors})
	add := func(id sched.WorkerID, a *actor, outlives bool) *worker {
		d.mu.Lock()
		defer d.mu.Unlock()
		w := d.addWorker(id, j, "env")
		w.actor, w.outlives = a, outlives
		return w
	}
	all := map[*worker]bool{ // whether the worker is ended with the driver
		add(11, &actor{rec: actors[0], endReported: true}, true): false,
		add(12, nil, true):  false,
		add(13, nil, false): true,
		add(14, &actor{rec: actors[2], endReported: true}, false): true,
	}
	successors := map[*client]bool{ // whether the successor is dropped with the driver
		connected(t, wire.RoleSuccessor): true,
		connected(t, wire.RoleSuccessor): false,
	}
	d.mu.Lock()
	number := sched.ClientID(100)
	for c, dropped := range successors {
		number++
		c.id, c.job, c.outlivesDriver = number, j, !dropped
		d.clients[c.id] = c
	}
	d.mu.Unlock()

	if d.endJob(j, record.JobLost, "its driver is gone") == nil {
		t.Error("the driver's end has ended nothing")
	}
	if again := d.endJob(j, record.JobFinished, "again"); again != nil {
		t.Errorf("the driver leaves again with %d outputs", len(again))
	}
	for w, want := range all {
		if w.Dismissed() != want {
			t.Errorf("worker %d is ended with the driver: %v", w.id, w.Dismissed())
		}
	}
	for c, want := range successors {
		if c.gone != want {
			t.Errorf("the successor that outlives the driver (%v) is dropped: %v", c.outlivesDriver, c.gone)
		}
	}
	seen := record.Job{ID: j.ID, State: record.JobRunning}
	if d.markLeft(&seen); seen.State != record.JobLost || seen.Message != "its driver is gone" || seen.EndedMs == 0 {
		t.Errorf("the job is shown as %+v", seen)
	}
	if d.lastDetached(j); len(told) != 0 || j.ended {
		t.Errorf("the job has ended while its detached actor lives: %q", told)
	}

	actors[0].State = record.ActorDead
	d.lastDetached(j)
	d.lastDetached(j) // each end of an actor has it looked at
	if want := []string{j.ID.String() + " " + string(record.JobLost) + " its driver is gone"}; !slices.Equal(told, want) {
		t.Errorf("the head heard %q, want %q", told, want)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for w := range all {
		if !w.Dismissed() && w.id != 11 { // the actor's own worker ends with the actor
			t.Errorf("worker %d is not ended with the last detached actor", w.id)
		}
	}
	for c := range successors {
		if !c.gone {
			t.Error("a successor stays when the last detached actor is dead")
		}
	}
}

// unsureHead does not answer which actors there are until the test lets it.
type unsureHead struct {
	Head

	mu      sync.Mutex
	answers bool
	actors  []record.Actor
	most    time.Duration // that a question could wait
	ends    int           // of jobs
}

func (h *unsureHead) ActorsOf(ctx context.Context, f record.ActorFilter) ([]record.Actor, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	until, bounded := ctx.Deadline()
	if !bounded {
		until = time.Now().Add(time.Hour)
	}
	h.most = max(h.most, time.Until(until))
	if !h.answers {
		return nil, context.DeadlineExceeded
	}
	return slices.DeleteFunc(slices.Clone(h.actors), func(a record.Actor) bool { return !f.Match(&a) }), nil
}

func (h *unsureHead) EndJob(ids.Job, record.JobState, string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ends++
}

func (h *unsureHead) told() (ends int, most time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ends, h.most
}

// A driver may leave while the head does not answer whether a detached actor of its job lives. What
// belongs to the driver ends in bounded time, nothing that may come from a detached actor does, and
// the job ends when the head has answered that there is none.
func TestEndJob_HeadDoesNotAnswer_JobGoesOnUntilItIsKnown(t *testing.T) {
	for _, lives := range []bool{false, true} {
		d, j := opened(t)
		j.detached = true
		head := &unsureHead{}
		if lives {
			head.actors = []record.Actor{{ID: ids.Actor{1}, Job: j.ID, Detached: true, State: record.ActorAlive}}
		}
		d.SetHead(head)
		var ofDriver, ofActor *worker
		d.locked(func() {
			ofDriver, ofActor = d.addWorker(13, j, "env"), d.addWorker(14, j, "env")
			ofActor.outlives = true
		})
		d.endJob(j, record.JobLost, "its driver is gone")
		if _, most := head.told(); most <= 0 || most > detachedWait {
			t.Errorf("the end of a driver may wait %v for the head", most)
		}
		d.locked(func() {
			if !j.left || j.ended || !ofDriver.Dismissed() || ofActor.Dismissed() {
				t.Errorf("left %v, ended %v; the driver's worker ends: %v, the one that may be a detached actor's: %v", j.left, j.ended, ofDriver.Dismissed(), ofActor.Dismissed())
			}
		})
		d.lastDetached(j)
		if ends, _ := head.told(); ends > 0 {
			t.Error("the job has ended while nobody knows of its actors")
		}
		func() {
			head.mu.Lock()
			defer head.mu.Unlock()
			head.answers = true
		}()
		if lives {
			d.lastDetached(j)
			if ends, _ := head.told(); ends > 0 {
				t.Error("the job has ended while its detached actor lives")
			}
			continue
		}
		// The daemon asks again by itself.
		await.Within(t, testLimit, "the job ends", func() bool { ends, _ := head.told(); return ends == 1 })
		d.locked(func() {
			if !ofActor.Dismissed() {
				t.Error("a worker goes on in a job that has ended")
			}
		})
	}
}

// A request that comes before the head is there waits for it, and not for ever.
func TestAwaitHead_UntilItIsThereOrTheRequestGivesUp(t *testing.T) {
	d, _ := opened(t)
	ended, end := context.WithCancel(t.Context())
	end()
	if err := d.awaitHead(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("there is no head: %v", err)
	}
	d.SetHead(&unsureHead{})
	for range 20 { // a head that is there is asked, also by a request that comes too late
		if err := d.awaitHead(ended); err != nil {
			t.Fatalf("there is a head: %v", err)
		}
	}
}

// What a process runs comes from a detached actor if the process whose work it is
// comes from one; the worker of the next task is what that task makes of it.
func TestOutlives_ComesFromWhoSubmitted(t *testing.T) {
	d, j := opened(t)
	driver := &client{role: wire.RoleDriver, job: j}
	keeper := &client{role: wire.RoleWorker, job: j, worker: &worker{outlives: true}, self: ids.NewWorkerOn(1)}
	successor := &client{role: wire.RoleSuccessor, job: j, predecessor: keeper}
	plain := &client{role: wire.RoleWorker, job: j, worker: &worker{}, self: ids.NewWorkerOn(1)}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.owners[keeper.self.Owner()], d.owners[plain.self.Owner()] = keeper, plain
	defer clear(d.owners)
	for _, c := range []struct {
		name string
		got  bool
		want bool
	}{
		{"the driver", driver.outlives(), false},
		{"a detached actor", keeper.outlives(), true},
		{"who is to be its successor", successor.outlives(), true},
		{"a worker of the driver", plain.outlives(), false},
		{"an actor whose owner is gone", d.ownerOutlives(&record.Actor{Owner: ids.Owner{9}}), false},
		{"an actor of the detached one", d.ownerOutlives(&record.Actor{Owner: keeper.self.Owner()}), true},
		{"an actor of the driver's worker", d.ownerOutlives(&record.Actor{Owner: plain.self.Owner()}), false},
	} {
		if c.got != c.want {
			t.Errorf("%s outlives the driver: %v", c.name, c.got)
		}
	}
	of := func(c *client, detached bool) *record.Actor {
		return &record.Actor{Owner: c.self.Owner(), Detached: detached}
	}
	for _, c := range []struct {
		name        string
		left, ended bool
		rec         *record.Actor
		want        bool
	}{
		{"of a driver that runs", false, false, of(plain, false), false},
		{"of the driver's worker when the driver has left", true, false, of(plain, false), true},
		{"of a detached actor when the driver has left", true, false, of(keeper, false), false},
		{"detached, when the driver has left", true, false, of(plain, true), false},
		{"of a detached actor when the job has ended", false, true, of(keeper, false), true},
		{"detached, when the job has ended", false, true, of(keeper, true), false},
	} {
		j.left, j.ended = c.left, c.ended
		if got := d.actorOver(j, c.rec); got != c.want {
			t.Errorf("an actor %s is not to start any more: %v", c.name, got)
		}
	}
	if j.left, j.ended = false, false; !d.actorOver(nil, of(keeper, true)) {
		t.Error("an actor of a forgotten job may start")
	}
}
