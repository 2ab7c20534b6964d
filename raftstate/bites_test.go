package raftstate

import (
	"testing"

	"github.com/eagleray/eagleray/core/record"
)

// A job that starts has not ended, whatever the record says that it starts with.
func TestJobStart_HasNotEnded(t *testing.T) {
	m := NewMachine()
	start := &JobStart{Job: record.Job{State: record.JobLost, Message: "over", EndedMs: 7}}
	id := start.apply(m).Job
	if j := m.jobs[id]; j == nil || j.State != record.JobRunning || j.Message != "" || j.EndedMs != 0 {
		t.Errorf("got %+v", j)
	}
}
