package client

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A call that was given back is nobody's here: its cancellation waits for it to come again.
func TestGiveBack_CallIsGivenBack_ItsCancellationIsNotAnsweredHere(t *testing.T) {
	d := startDaemon(t)
	w := d.programless()
	p := callsInto(t, w, wire.RoleLease, nil)
	p.send(templateOf(1, nil), callOf(1, 1, "runs"), callOf(2, 1, "behind"), callOf(3, 1, "behind"))
	it := takes(t, w)
	waitFor(t, "both are behind it", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.exec.Waiting() == 2
	})
	task := func(n uint64) ids.Task { // of its first return
		id := ids.NewObject(n, p.self, w.info.Job, 1)
		return ids.Task(id[:ids.TaskSize])
	}
	behind, last := task(200), task(300)
	cancels(w, last)
	p.isReply(3, wire.ReplyCancelled)
	w.mu.Lock()
	w.exec.Block()
	w.mu.Unlock()
	if s := p.reads(); s.op != wire.OpReturned || len(s.seqs) != 1 || s.seqs[0] != 2 {
		t.Errorf("the worker says %+v, want that call 2 comes back", s)
	}
	cancels(w, behind)
	w.mu.Lock()
	if x := w.exec.Counts(); x.Early != 1 || x.Running != 1 {
		t.Errorf("%d cancellations wait for their calls, %d calls run, want 1 and 1", x.Early, x.Running)
	}
	w.exec.Unblock()
	w.mu.Unlock()
	answers(t, w, it, "done")
	p.isReply(1, 0, "done")
}
