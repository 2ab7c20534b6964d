package daemon

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/internal/workers"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/tests/await"
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
	script := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexec sleep 1000\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	j.DefineEnv(wire.EnvSpec{Key: "sleeps", Python: script})
	add := func(id sched.WorkerID, ordered, runs bool, a *actor) *worker {
		d.mu.Lock()
		w := d.addWorker(id, j, "sleeps")
		if ordered {
			d.table.Start(w.Worker)
		}
		if runs { // as a process that is gone
			d.table.Connected(w.Worker, 1<<23+int(id), nil)
		}
		w.actor = a
		d.mu.Unlock()
		if ordered {
			await.Within(t, testLimit, "the worker's output is there", func() bool {
				d.mu.Lock()
				defer d.mu.Unlock()
				return w.Output() != nil
			})
		}
		return w
	}
	runs, unborn, silent := add(11, true, true, nil), add(12, true, false, nil), add(13, false, true, nil)
	detached := add(14, true, true, &actor{rec: record.Actor{Detached: true}})
	other := add(15, true, true, &actor{endReported: true})
	all := map[*worker]bool{runs: true, unborn: true, silent: true, detached: false, other: true} // whether the worker is to be ended
	d.mu.Lock()
	successor, stranger, driver := connected(t, wire.RoleSuccessor), connected(t, wire.RoleSuccessor), connected(t, wire.RoleDriver)
	for i, c := range []*client{successor, stranger, driver} {
		c.id, c.job = sched.ClientID(100+i), j
		d.clients[c.id] = c
	}
	stranger.job = jobOf(2)
	d.mu.Unlock()

	outputs := d.endJob(j, record.JobFinished, "it is done")
	has := map[*workers.Output]bool{}
	for _, o := range outputs {
		has[o] = true
	}
	if len(outputs) != 2 || !has[runs.Output()] || !has[other.Output()] {
		t.Errorf("%d outputs are to be drained, want those of the two workers that have begun and are ended", len(outputs))
	}
	if again := d.endJob(j, record.JobLost, "again"); again != nil {
		t.Errorf("an ended job ends again with %d outputs", len(again))
	}
	if want := j.ID.String() + " " + string(record.JobFinished) + " it is done"; len(told) != 1 || told[0] != want {
		t.Errorf("the head heard %q, want once %q", told, want)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !successor.gone || stranger.gone || driver.gone || d.clients[successor.id] != nil || d.clients[stranger.id] == nil {
		t.Errorf("of the clients are gone: the job's successor %v, another job's successor %v, the driver %v", successor.gone, stranger.gone, driver.gone)
	}
	for w, want := range all {
		if w.Dismissed() != want {
			t.Errorf("worker %d is ended: %v", w.id, w.Dismissed())
		}
	}
	delete(d.clients, stranger.id)
	delete(d.clients, driver.id)
}
