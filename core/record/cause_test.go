package record

import "testing"

func TestCause_String_ReasonAndMessage(t *testing.T) {
	for want, c := range map[string]Cause{
		"killed":           {Reason: Killed},
		"it is gone":       {Message: "it is gone"},
		"node_died: power": {Reason: NodeDied, Message: "power"},
		"":                 {},
	} {
		if got := c.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestReason_WorkerGone_UnlessOthersEndedIt(t *testing.T) {
	for r, want := range map[Reason]bool{
		Killed: false, OwnerDied: false, JobEnded: false,
		Released: true, Exited: true, WorkerDied: true, NodeDied: true, StartFailed: true, EnvFailed: true, OutOfMemory: true,
	} {
		if got := r.WorkerGone(); got != want {
			t.Errorf("%s: got %v", r, got)
		}
	}
}
