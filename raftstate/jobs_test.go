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
