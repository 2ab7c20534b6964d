package daemon

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/core/sched"
	"github.com/eagleray/eagleray/core/wire"
	"github.com/eagleray/eagleray/core/workers"
)

// endHead notes which job has ended, and how.
type endHead struct {
	Head
	ended *[]string
}

func (h endHead) EndJob(id ids.Job, s record.JobState, message string) {
	*h.ended = append(*h.ended, id.String()+" "+string(s)+" "+message)
}
func (endHead) OwnerDied(ids.Owner) {}

// The end of a job ends its workers but those of detached actors, and drains the
// output of the workers that have begun. The end is told once.
func TestEndJob_EndsAllButDetachedActors(t *testing.T) {
	d, j := opened(t)
	var told []string
	d.SetHead(endHead{ended: &told})
	began, unborn, silent, detached, other := &workers.Output{}, &workers.Output{}, (*workers.Output)(nil), &workers.Output{}, &workers.Output{}
	all := map[*worker]bool{ // whether the worker is to be ended
		{id: 11, pid: 1 << 23, output: began}:  true,
		{id: 12, output: unborn}:               true,
		{id: 13, pid: 1 << 23, output: silent}: true,
		{id: 14, pid: 1 << 23, output: detached, actor: &actor{rec: record.Actor{Detached: true}}}: false,
		{id: 15, pid: 1 << 23, output: other, actor: &actor{}}:                                     true,
	}
	d.mu.Lock()
	for w := range all {
		w.job, w.told, w.token = j, make(chan struct{}), newToken()
		j.workers[w.id] = w
	}
	heir, stranger, driver := connected(t, wire.RoleHeir), connected(t, wire.RoleHeir), connected(t, wire.RoleDriver)
	for i, c := range []*client{heir, stranger, driver} {
		c.id, c.job = sched.ClientID(100+i), j
		d.clients[c.id] = c
	}
	stranger.job = &job{id: ids.JobOf(2)}
	d.mu.Unlock()

	outputs := d.endJob(j, record.JobFinished, "it is done")
	has := map[*workers.Output]bool{}
	for _, o := range outputs {
		has[o] = true
	}
	if len(outputs) != 2 || !has[began] || !has[other] {
		t.Errorf("%d outputs are to be drained, want those of the two workers that have begun and are ended", len(outputs))
	}
	if again := d.endJob(j, record.JobLost, "again"); again != nil {
		t.Errorf("an ended job ends again with %d outputs", len(again))
	}
	if want := j.id.String() + " " + string(record.JobFinished) + " it is done"; len(told) != 1 || told[0] != want {
		t.Errorf("the head heard %q, want once %q", told, want)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !heir.gone || stranger.gone || driver.gone || d.clients[heir.id] != nil || d.clients[stranger.id] == nil {
		t.Errorf("of the clients are gone: the job's heir %v, another job's heir %v, the driver %v", heir.gone, stranger.gone, driver.gone)
	}
	for w, want := range all {
		if w.doomed != want {
			t.Errorf("worker %d is ended: %v", w.id, w.doomed)
		}
		delete(j.workers, w.id)
	}
	delete(d.clients, stranger.id)
	delete(d.clients, driver.id)
}

// How a zygote ended is noted at the zygote of that process only: one that a
// signal has ended is known as killed.
func TestZygoteReaped_KilledBySignal_IsNoted(t *testing.T) {
	d, j := opened(t)
	_, z := ordered(d, j) // it does not run, so its process is 0
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range []struct {
		pid, status int
		killed      bool
	}{{0, 1, false}, {0, 0, false}, {5, -9, false}, {0, -9, true}, {5, 0, true}, {0, -1, true}, {0, 0, false}} {
		if d.zygoteReaped(c.pid, c.status); z.killed != c.killed {
			t.Errorf("process %d ended with %d: killed is %v", c.pid, c.status, z.killed)
		}
	}
}
