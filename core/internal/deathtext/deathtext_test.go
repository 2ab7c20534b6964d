package deathtext

import (
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

func TestOf_NamesTheActorAndTheReason(t *testing.T) {
	const address = "192.0.2.1"
	a := &record.Actor{ID: ids.Actor{7}, ClassName: "Counter", Name: "it", Namespace: "ns", Pid: 5, MaxRestarts: 2, NumRestarts: 2}
	again := " It was restarted as often as max_restarts allows, which is 2."
	for reason, want := range map[record.Reason]string{
		record.Killed:      "it was killed by `ray.kill`." + again,
		record.Released:    "all references to it were removed.",
		record.WorkerDied:  "its worker process has died: detail." + again,
		record.Exited:      "its worker process has ended on purpose (INTENDED_USER_EXIT): detail.",
		record.OwnerDied:   "its owner has died: detail.",
		record.JobEnded:    "its job has ended: detail.",
		record.StartFailed: "it could not be started: detail.",
		record.EnvFailed:   "its runtime environment could not be made: detail.",
		record.OutOfMemory: "its node ran out of memory: detail." + again,
		record.GPUMemory:   "it used more of a GPU's memory than it had asked for: detail." + again,
		record.NodeDied:    "its node has died: detail." + again,
		"unheard of":       "unheard of: detail.",
	} {
		a.Cause = record.Cause{Reason: reason, Message: "detail."}
		got := Of(a, address)
		head := "\tclass_name: Counter\n\tactor_id: " + a.ID.String() + "\n\tpid: 5\n\tname: it\n\tnamespace: ns\n\tip: 192.0.2.1\n"
		because := "The actor is dead because "
		if reason == record.NodeDied {
			because = "The actor died because "
		}
		if got != head+because+want {
			t.Errorf("%s: got\n%s", reason, got)
		}
	}
	a.Cause = record.Cause{Reason: record.WorkerDied}
	if a.NumRestarts = 1; !strings.HasSuffix(Of(a, address), "its worker process has died.") {
		t.Errorf("got %s", Of(a, address))
	}
	a.NumRestarts, a.MaxRestarts = 3, -1
	if text := Of(a, address); strings.Contains(text, "as often") {
		t.Errorf("one that restarts without end: %s", text)
	}
	a.Pid, a.Previous.Pid = 0, 4
	if text := Lines(a, 0, address); !strings.Contains(text, "pid: 4\n") {
		t.Errorf("got %s", text)
	}
	if text := Lines(a, 9, address); !strings.Contains(text, "pid: 9\n") || strings.Contains(text, "pid: 4") {
		t.Errorf("got %s", text)
	}
}

// What is said of an actor's end names its reason, and the detail when there is one.
func TestWhy_EachReasonInWords(t *testing.T) {
	for r, words := range map[record.Reason]string{
		record.Killed: "`ray.kill`", record.Released: "all references", record.WorkerDied: "worker process has died: d", record.Exited: "on purpose (INTENDED_USER_EXIT): d",
		record.OwnerDied: "owner has died: d", record.JobEnded: "its job has ended: d", record.StartFailed: "could not be started: d", record.EnvFailed: "runtime environment could not be made: d",
		record.OutOfMemory: "ran out of memory: d", record.GPUMemory: "GPU's memory than it had asked for: d", record.NodeDied: "its node has died: d", "else": "else: d",
	} {
		if got := Cause(r, "d."); !strings.Contains(got, words) {
			t.Errorf("%s: %q", r, got)
		}
		if got := Cause(r, ""); strings.Contains(got, ":") {
			t.Errorf("%s without a detail: %q", r, got)
		}
		comes := r == record.WorkerDied || r == record.NodeDied || r == record.OutOfMemory || r == record.GPUMemory || r == record.Killed
		if restartable(r) != comes {
			t.Errorf("%s: restartable is %v", r, !comes)
		}
	}
}

// A caller gets the code and the exception of the record beside the words, and of an actor that
// nobody remembers at least its id.
func TestReply_CodeWordsAndException(t *testing.T) {
	a := &record.Actor{ID: ids.Actor{7}, Cause: record.Cause{Reason: record.OutOfMemory, Error: []byte("x")}}
	r := Reply(a, "192.0.2.1")
	if r.State != "DEAD" || r.Cause != string(fault.OutOfMemory) || r.Message != Of(a, "192.0.2.1") || string(r.Error) != "x" {
		t.Errorf("got %+v", r)
	}
	if r := Forgotten(a.ID); r.State != "DEAD" || !strings.Contains(r.Message, a.ID.String()) {
		t.Errorf("got %+v", r)
	}
}
