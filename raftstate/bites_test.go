package raftstate

import (
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/eagleray/eagleray/core/record"
)

// A log that is asked to delete entries from its middle names them: both ends are meant.
func TestMemoryLog_DeleteRange_InTheMiddle_NamesBothEnds(t *testing.T) {
	var m memoryLog
	for i := uint64(1); i <= 9; i++ {
		if err := m.StoreLog(&raft.Log{Index: i}); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.DeleteRange(3, 5); err == nil || !strings.Contains(err.Error(), "entries 3 to 5: in the middle of 1 to 9") {
		t.Errorf("got %v", err)
	}
}

// A job that starts has not ended, whatever the record says that it starts with.
func TestJobStart_HasNotEnded(t *testing.T) {
	m := NewMachine()
	start := &JobStart{Job: record.Job{State: record.JobLost, Message: "over", EndedMs: 7}}
	id := start.apply(m).Job
	if j := m.jobs[id]; j == nil || j.State != record.JobRunning || j.Message != "" || j.EndedMs != 0 {
		t.Errorf("got %+v", j)
	}
}
