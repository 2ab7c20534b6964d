package daemon_test

import (
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A driver that says goodbye is answered when its workers' last words were sent.
func TestFlow_JobEnd_AnsweredAfterTheLastWords(t *testing.T) {
	s := play.Start(t, 2)
	d, other := s.Driver(nil), s.Driver(nil)
	d.Class(1, play.OneCPU, "default")
	d.Want(1, 1)
	a := d.Lease()
	a.Tell(`print last words\n`)
	d.Call(wire.TJobEnd, nil, nil)
	if !slices.ContainsFunc(d.Logs(), func(l wire.LogLine) bool { return l.Text == "last words" }) {
		t.Error("the last words come after the answer")
	}
	play.Eventually(t, "its worker has ended", func() bool { return !play.Running(a.Pid) })
	play.Eventually(t, "one job is left", func() bool { return other.Info().Jobs == 1 })
	cli := s.Tool()
	wantCode(t, "a tool's job", cli.Try(wire.TJobEnd, nil, nil), fault.BadRequest)
}

func TestFlow_Forget_ReachesTheJobsWorkers(t *testing.T) {
	s := play.Start(t, 2)
	d, other := s.Driver(nil), s.Driver(nil)
	d.Class(1, play.OneCPU, "default")
	other.Class(1, play.OneCPU, "default")
	d.Want(1, 1)
	other.Want(1, 1)
	mine, theirs := d.Lease(), other.Lease()
	d.Push(wire.TForget, wire.FunctionRef{FID: []byte("function-of-mine")})
	play.Eventually(t, "the worker has heard it", func() bool { return mine.Tell("forgot") == "function-of-mine" })
	if got := theirs.Tell("forgot"); got != "ok" {
		t.Errorf("another job's worker forgets %s", got)
	}
}

func TestFlow_Footprint_CountsTheTables(t *testing.T) {
	s := play.Start(t, 2)
	d, cli := s.Driver(nil), s.Tool()
	d.Class(1, play.OneCPU, "default")
	d.Want(1, 1)
	d.Lease()
	id := d.Made("", nil)
	d.Resolve(id, 0)
	d.Put(4096)
	var n map[string]uint64
	play.Eventually(t, "the question for the actor is forgotten, which comes after its answer", func() bool {
		n = nil
		cli.Call(wire.TFootprint, wire.FootprintAsk{}, &n)
		return n["n_cancels"] == 0
	})
	for name, want := range map[string]uint64{
		"n_jobs": 1, "n_actors": 1, "n_objects": 1, "n_zygotes": 1, "n_envs": 1, "n_in_arena": 1, "n_sched_leases": 1, "n_head_actors": 1,
		"n_handovers": 0, "n_failed_starts": 0, "n_clients": 4, "n_owners": 3,
	} {
		if n[name] != want {
			t.Errorf("%s is %d, want %d", name, n[name], want)
		}
	}
}

// A daemon that must end says why to the drivers, before their connections end.
func TestFlow_EndBecause_DriversHearWhy(t *testing.T) {
	s := play.Start(t, 1)
	a, b := s.Driver(nil), s.Driver(nil)
	stops := b.StopsReading()
	s.D.EndBecause("the node was declared dead")
	var e wire.Ending
	if a.Expect(wire.TEnding, &e); e.Reason != "the node was declared dead" {
		t.Errorf("the driver hears %q", e.Reason)
	}
	<-s.D.Stopping()
	stops()
}
