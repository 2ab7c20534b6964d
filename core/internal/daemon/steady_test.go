package daemon

import (
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/record"
)

// How often an actor fell is of no interest once it will not come again, however it ends.
func TestFailedStarts_ActorEnds_AreForgotten(t *testing.T) {
	d, j := opened(t)
	d.SetHead(deafHead{})
	rec := record.Actor{ID: ids.Actor{1}, Job: j.ID, Incarnation: 3, MaxRestarts: -1, State: record.ActorRestarting}
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
		d.failedStarts[rec.ID] = 2
		d.actors[rec.ID] = &actor{rec: rec, backoff: time.Second}
		end()
		if len(d.failedStarts) != 0 || len(d.actors) != 0 {
			t.Errorf("%s: %d falls and %d actors are kept", name, len(d.failedStarts), len(d.actors))
		}
	}
}

// deafHead takes reports.
type deafHead struct{ Head }

func (deafHead) ActorStartFailed(record.Instance, record.Cause) {}
