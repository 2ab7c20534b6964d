package daemon

import (
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/core/sched"
)

// A worker that has ended must not stay in memory until the timers that were set for it would have fired: with
// workers that come and go all the time those would be hundreds, each with its connection's buffers.
func TestWorker_Ended_NothingKeepsIt(t *testing.T) {
	d, j := opened(t)
	gone := func() weak.Pointer[worker] {
		w, _ := ordered(d, j)
		c := connected(t, "worker")
		d.mu.Lock()
		defer d.mu.Unlock()
		w.client, c.worker = c, w
		d.setDeadline(w)
		d.endWorker(w, time.Hour)
		d.expectEnd(w, time.Hour)
		c.worker = nil // the test's own hold of the connection
		d.forget(w)
		w.client = nil
		d.dropZygote(w.zygote)
		return weak.Make(w)
	}()
	// Every timer fires later than that, so a timer that nobody stopped still holds the worker then.
	within(t, forkTimeout*2/3, "nothing refers to the worker", func() bool {
		// Go keeps a stopped timer on its processor until that has to do with timers again.
		for range runtime.GOMAXPROCS(0) {
			go time.Sleep(time.Microsecond)
		}
		runtime.GC()
		return gone.Value() == nil
	})
}

// How often an actor fell is of no interest once it will not come again, however it ends.
func TestFalls_ActorEnds_AreForgotten(t *testing.T) {
	d, j := opened(t)
	d.SetHead(deafHead{})
	rec := record.Actor{ID: ids.Actor{1}, Job: j.id, Incarnation: 3, MaxRestarts: -1, State: record.ActorRestarting}
	for name, end := range map[string]func(){
		"killed while it rests":    func() { d.StopActor(record.Instance{Actor: rec.ID, Incarnation: 3}, false) },
		"released while it rests":  func() { d.StopActor(record.Instance{Actor: rec.ID, Incarnation: 3}, true) },
		"its environment is wrong": func() { d.actorFailed(sched.ActorFailed{Actor: (&actor{rec: rec}).key()}) },
		"its job has ended": func() {
			j.ended = true
			d.place(&actor{rec: rec})
		},
	} {
		j.ended = false
		d.falls[rec.ID] = 2
		d.actors[rec.ID] = &actor{rec: rec, resting: time.Second}
		end()
		if len(d.falls) != 0 || len(d.actors) != 0 {
			t.Errorf("%s: %d falls and %d actors are kept", name, len(d.falls), len(d.actors))
		}
	}
}

// deafHead takes reports.
type deafHead struct{ Head }

func (deafHead) ActorStartFailed(record.Instance, record.Cause) {}
