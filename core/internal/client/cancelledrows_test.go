package client

import (
	"testing"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// A census goes past the place that a cancelled task has left in its queue.
func TestCensus_QueuedTaskWasCancelled_TheOthersAreListed(t *testing.T) {
	c := startDaemon(t).driver() // no worker comes
	f := template(t, c, "f")
	submitText(t, c, f, "first")
	cancelled := submitText(t, c, f, "second")
	submitText(t, c, f, "third")
	if err := c.Cancel(cancelled, false, false); err != nil {
		t.Fatal(err)
	}
	rows := c.answerCensus(&wire.CensusAsk{Tasks: true, Limit: 10})
	if rows.Open != 2 || len(rows.Tasks) != 2 {
		t.Errorf("%d tasks are open and %d are listed, want 2 and 2", rows.Open, len(rows.Tasks))
	}
}
