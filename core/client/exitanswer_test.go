package client

import (
	"testing"

	"github.com/eagleray/eagleray/core/wire"
)

// What keeps a worker that is told to exit: calls that run or wait, until its program
// has been told that no more work comes.
func TestExitAnswer(t *testing.T) {
	c := bareClient(t, Options{Role: wire.RoleWorker})
	c.table = c.newTable()
	c.exec = newExecutor(c)
	answer := func(want bool, when string) {
		t.Helper()
		c.mu.Lock()
		defer c.mu.Unlock()
		if got := c.exitAnswer(); got.Runs != want {
			t.Errorf("%s: %+v, want Runs to be %v", when, got, want)
		}
	}
	answer(false, "idle")
	c.exec.busy = 1
	answer(true, "a call runs")
	c.exec.busy = 0
	k := &call{}
	c.exec.queue = append(c.exec.queue, k)
	answer(true, "a call waits")
	c.exec.queue, c.exec.busy = nil, 1
	c.exec.ended = "idle"
	if it, err := c.NextTask(testLimit, ""); err != nil || it == nil || it.Kind != ItemExit {
		t.Fatalf("%+v, %v", it, err)
	}
	answer(false, "its program ends, beside a call in another thread")
}
