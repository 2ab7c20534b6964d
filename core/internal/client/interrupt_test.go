package client

import (
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
)

func TestCancel_ComesBeforeItsCall_AnsweredWhileAnotherRuns(t *testing.T) {
	d := startDaemon(t)
	begun, gate := make(chan struct{}, 1), make(chan struct{})
	a := d.act(0, func(_ uint64, c *Client, it *Item) {
		begun <- struct{}{}
		<-gate
		echo(c, it)
	})
	c := d.driver()
	id := newActor(t, c, ActorSpec{})
	tm := method(t, c, 0)
	runs := callActor(t, c, id, tm, "runs")
	<-begun
	c.mu.Lock()
	next := ids.NewObject(c.table.Peek(), c.self, c.info.Job, 1)
	c.mu.Unlock()
	cancels(a.worker, ids.Task(next[:ids.TaskSize]))

	late := callActor(t, c, id, tm, "late")
	if _, code := outcome(t, c, late); code != fault.TaskCancelled {
		t.Errorf("the cancelled call came to %q", code)
	}
	last := callActor(t, c, id, tm, "last")
	close(gate)
	for ref, want := range map[ids.Object]string{runs: "runs", last: "last"} {
		if text, code := outcome(t, c, ref); text != want {
			t.Errorf("%s: %q, %q", want, text, code)
		}
	}
	a.worker.mu.Lock()
	defer a.worker.mu.Unlock()
	if n := a.worker.exec.Counts().Early; n != 0 {
		t.Errorf("%d cancellations are still kept", n)
	}
}
