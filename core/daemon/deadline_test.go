package daemon

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
)

// A worker's time to come up begins when its zygote can fork: with the order if
// the zygote is ready, else when the zygote is. It does not begin anew for
// workers that wait already, nor for workers that are up.
func TestWorker_TimeToComeUp_BeginsWithAReadyZygote(t *testing.T) {
	d, j := opened(t)
	w, z := ordered(d, j)
	d.mu.Lock()
	z.ready = false
	if d.forkFrom(w, z); w.deadline != nil {
		t.Error("its time runs while the zygote imports")
	}
	if w.zygote != z || w.ordered || w.forks != 2 {
		t.Errorf("after the order: %d forks, ordered %v", w.forks, w.ordered)
	}
	up := &worker{id: 2, self: ids.NewWorker(), job: j, zygote: z, state: stateReady}
	elsewhere := &worker{id: 3, self: ids.NewWorker(), job: j, zygote: d.newZygote(j.envs["env"], j.id)}
	d.workers[2], d.workers[3] = up, elsewhere
	d.mu.Unlock()
	d.zygoteReady(z)
	d.mu.Lock()
	first := w.deadline
	if first == nil || up.deadline != nil || elsewhere.deadline != nil || !z.ready {
		t.Errorf("the zygote is ready: time runs for the worker %v, for one that is up %v, for one of another zygote %v", first != nil, up.deadline != nil, elsewhere.deadline != nil)
	}
	d.mu.Unlock()
	d.zygoteReady(z)
	d.mu.Lock()
	defer d.mu.Unlock()
	if w.deadline != first {
		t.Error("its time begins anew")
	}
	w.deadline.Stop()
	w.deadline = nil
	w.stopTimers()
	if d.forkFrom(w, z); w.deadline == nil {
		t.Error("its time does not run although the zygote is ready")
	}
	w.deadline.Stop()
	w.stopTimers()
	delete(d.workers, 2)
	delete(d.workers, 3)
}
