package workers

import (
	"testing"
)

// A worker's time to come up begins when its zygote can fork: with the order if
// the zygote is ready, else when the zygote is. It does not begin anew for
// workers that wait already, nor for workers that are up.
func TestWorker_TimeToComeUp_BeginsWithAReadyZygote(t *testing.T) {
	tb, j := openTable(t)
	w, z, _ := ordered(tb, j)
	tb.mu.Lock()
	z.ready = false
	if tb.forkFrom(w, z); w.deadline != nil {
		t.Error("its time runs while the zygote imports")
	}
	if w.zygote != z || w.forkSent || w.forks != 2 {
		t.Errorf("after the order: %d forks, ordered %v", w.forks, w.forkSent)
	}
	up, elsewhere := &Worker{zygote: z, state: Ready}, &Worker{zygote: &envZygote{job: j}}
	tb.workers[up], tb.workers[elsewhere] = struct{}{}, struct{}{}
	tb.mu.Unlock()
	tb.zygoteReady(z)
	tb.mu.Lock()
	first := w.deadline
	if first == nil || up.deadline != nil || elsewhere.deadline != nil || !z.ready {
		t.Errorf("the zygote is ready: time runs for the worker %v, for one that is up %v, for one of another zygote %v", first != nil, up.deadline != nil, elsewhere.deadline != nil)
	}
	tb.mu.Unlock()
	tb.zygoteReady(z)
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if w.deadline != first {
		t.Error("its time begins anew")
	}
	w.deadline.Stop()
	w.deadline = nil
	w.stopTimers()
	if tb.forkFrom(w, z); w.deadline == nil {
		t.Error("its time does not run although the zygote is ready")
	}
	w.deadline.Stop()
	w.stopTimers()
	delete(tb.workers, up)
	delete(tb.workers, elsewhere)
}
