package client

import (
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/own"
)

// Two tasks may move the same small result to the arena at once. The second must
// leave the first one's copy alone, which may still be being written; only a run
// of the task itself takes the place of an earlier run's.
func TestArguments_SameResultMovedTwice_IsWrittenOnce(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	v := &Value{Fmt: FmtBytes, Bufs: [][]byte{make([]byte, 90<<10)}}
	total, _ := v.layout()
	c.mu.Lock()
	o := c.table.New(1, 1)
	o.State, o.Value = own.Inline, v.envelope(total)
	c.mu.Unlock()
	if err := c.storeEnvelope(o.ID, o.Value); err != nil {
		t.Fatal(err)
	}
	if err := c.storeEnvelope(o.ID, o.Value); fault.CodeOf(err) != fault.AlreadyExists {
		t.Errorf("moved again: %v, want %q", err, fault.AlreadyExists)
	}
	if err := c.storeResult(o.ID, v, total, false); err != nil {
		t.Errorf("written anew: %v", err)
	}
}
