package raftstate

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// A driver whose request was repeated has one job, also after a restore and when the job has ended. A job that is no
// longer kept is forgotten with its driver.
func TestJobStart_SameDriver_HasOneJob(t *testing.T) {
	m, index := NewMachine(), uint64(0)
	apply := func(b Body) Result {
		index++
		r, _ := m.Apply(index, Command{Body: b})
		return r
	}
	start := func(driver byte) ids.Job {
		return apply(&JobStart{record.Job{Entrypoint: "it", Driver: ids.Owner{driver}}}).Job
	}
	first := start(1)
	if again := start(1); again != first || len(m.jobs) != 1 {
		t.Errorf("again it is job %s, and there are %d jobs", again, len(m.jobs))
	}
	if other := start(2); other == first {
		t.Error("another driver got the same job")
	}
	if a, b := start(0), start(0); a == b {
		t.Error("jobs without a driver are the same")
	}
	m = restored(t, m)
	apply(&JobEnd{ID: first, State: record.JobLost})
	if again := start(1); again != first || m.jobs[first].State != record.JobLost {
		t.Errorf("after the end it is job %s in state %s", again, m.jobs[first].State)
	}
	for range keptEndedJobs {
		apply(&JobEnd{ID: start(0), State: record.JobFinished})
	}
	if m.jobs[first] != nil || len(m.drivers) != 1 {
		t.Errorf("the ended job is kept: %v, and %d drivers are", m.jobs[first] != nil, len(m.drivers))
	}
	if again := start(1); again == first {
		t.Error("a number was used twice")
	}
}

// A job whose driver leaves while a detached actor of it lives goes on until the last one is dead. What it may still register is what
// works for these actors.
func TestJob_DetachedActorsLive_LeavesAndEndsWithTheLast(t *testing.T) {
	m, index := NewMachine(), uint64(0)
	apply := func(b Body) Result {
		index++
		r, _ := m.Apply(index, Command{Body: b})
		return r
	}
	id := apply(&JobStart{record.Job{Entrypoint: "p"}}).Job
	other := apply(&JobStart{record.Job{Entrypoint: "q", Driver: ids.Owner{1}}}).Job
	actor := func(n byte, detached, lasting bool, job ids.Job) Outcome {
		return apply(&RegisterActor{Actor: record.Actor{ID: ids.Actor{n}, Job: job, Detached: detached, Lasting: lasting}}).Outcome
	}
	state := func(want record.JobState, message string) {
		t.Helper()
		if j, _ := m.Job(id); j.State != want || j.Message != message || want == record.JobLeft && j.Leaves != record.JobLost {
			t.Errorf("%+v, want %s", j, want)
		}
	}
	actor(1, true, false, id)
	actor(2, true, false, id)
	actor(3, false, false, id)
	actor(4, true, false, other)
	apply(&JobEnd{ID: id, State: record.JobLost, Message: "gone", AtMs: 5})
	state(record.JobLeft, "gone")
	apply(&JobEnd{ID: id, State: record.JobFinished, AtMs: 6})
	state(record.JobLeft, "gone")
	if o := actor(5, false, false, id); o != JobOver {
		t.Errorf("the driver's own actor: outcome %d", o)
	}
	if o := actor(6, false, true, id); o != Done {
		t.Errorf("an actor of a detached one: outcome %d", o)
	}
	apply(&ActorDead{ID: ids.Actor{1}})
	apply(&ActorDead{ID: ids.Actor{3}})
	state(record.JobLeft, "gone")
	apply(&ActorDead{ID: ids.Actor{2}})
	state(record.JobLost, "gone")
	if o := actor(7, false, true, id); o != JobOver {
		t.Errorf("an actor after the end: outcome %d", o)
	}
	if j, _ := m.Job(other); j.State != record.JobRunning {
		t.Errorf("another job is %s", j.State)
	}
}
