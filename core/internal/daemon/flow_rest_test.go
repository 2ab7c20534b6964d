package daemon_test

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// explained is why an actor does not run yet.
func explained(d *play.Driver, id ids.Actor) (why string) {
	d.T.Helper()
	d.Call(wire.TWhoHolds, wire.ClassTrouble{ActorID: id[:]}, &why)
	return why
}

// An actor whose constructor kills its worker again and again rests before the
// next one, and whoever asks is told so.
func TestFlow_Actor_DiesInItsConstructor_BacksOff(t *testing.T) {
	s := play.Start(t, 1)
	d, tool := s.Driver(nil), s.Tool()
	id := d.Made("dies", func(q *wire.ActorCreate) { q.MaxRestarts = -1 })
	play.Eventually(t, "it is said that it rests", func() bool {
		return strings.Contains(explained(d, id), "times in a row before its constructor had ended; the next one starts")
	})
	d.KillActor(id)
	if st := d.Resolve(id, 0); st.State != wire.ActorDead || !strings.Contains(st.Message, "ray.kill") {
		t.Errorf("got %+v", st)
	}
	few := d.Made("dies", func(q *wire.ActorCreate) { q.MaxRestarts = 2 })
	if st := d.Resolve(few, 0); st.State != wire.ActorDead || !strings.Contains(st.Message, "which is 2") || !strings.Contains(st.Message, "ended with exit code 9") {
		t.Errorf("got %+v", st)
	}
	play.Eventually(t, "nothing is kept of them", func() bool {
		var n map[string]uint64
		tool.Call(wire.TFootprint, wire.FootprintAsk{}, &n)
		return n["n_actors"] == 0 && n["n_failed_starts"] == 0
	})
}

// Whoever waits for an actor is told what it waits for.
func TestFlow_Actor_NotThereYet_IsExplained(t *testing.T) {
	s := play.Start(t, 1)
	d := s.Driver(nil)
	holds := func(q *wire.ActorCreate) { q.RunResources = play.Units(play.OneCPU) }
	runs := d.Made("runs on", holds)
	play.Eventually(t, "its constructor runs", func() bool { return strings.Contains(explained(d, runs), "its constructor runs in worker pid") })
	waits := d.Made("", holds)
	play.Eventually(t, "another one waits for the CPU", func() bool { return strings.Contains(explained(d, waits), "it waits for CPU: asked 1, free 0 of 1") })
	if why := explained(d, ids.NewActor(ids.Job(d.Job.JobID))); why != "it is not placed on this node" {
		t.Errorf("one that nobody made: %q", why)
	}
	d.KillActor(runs)
	if st := d.Resolve(waits, 0); st.State != wire.ActorAlive {
		t.Errorf("got %+v", st)
	}
}

// Of an actor that may restart its callers hear which of their calls it had
// begun; nobody else's page tells it.
func TestFlow_ActorLost_CallsThatHadBegunAreKnown(t *testing.T) {
	s := play.Start(t, 2)
	d, other := s.Driver(nil), s.Driver(nil)
	owner := d.Owner()
	token := func(q *wire.ActorCreate) { q.MaxRestarts, q.Token = 1, owner.String() }
	id := d.Made("begins calls", token)
	st := d.Resolve(id, 0)
	_ = unix.Kill(st.Pid, unix.SIGKILL)
	if f := d.Lost(id, 1); f.State != wire.ActorRestarting || !f.Known || f.Started != play.CallsBegun {
		t.Errorf("got %+v", f)
	}
	if f := other.Lost(id, 1); f.State != wire.ActorRestarting || !f.Known || f.Started != 0 {
		t.Errorf("another caller: got %+v", f)
	}
}

// Actors are created with other needs, or another class, when theirs are not there.
func TestFlow_Actor_Alternatives_AreTaken(t *testing.T) {
	s := play.Start(t, 2)
	d := s.Driver(nil)
	id := d.Made("", func(q *wire.ActorCreate) {
		q.Resources = play.Units(map[string]float64{"GPU": 64})
		q.Fallback = []wire.Alternative{{Resources: play.Units(map[string]float64{"CPU": 1})}}
	})
	if st := d.Resolve(id, 0); st.State != wire.ActorAlive {
		t.Errorf("got %+v", st)
	}
}

// Requests about actors that are wrong are refused.
func TestFlow_Actor_WrongRequests_AreRefused(t *testing.T) {
	s := play.Start(t, 1)
	d, tool := s.Driver(nil), s.Tool()
	bad := map[string]int64{"CPU": -1}
	for what, change := range map[string]func(*wire.ActorCreate){
		"a short id":            func(q *wire.ActorCreate) { q.ActorID = []byte("x") },
		"a short owner":         func(q *wire.ActorCreate) { q.OwnerID = []byte("x") },
		"another owner":         func(q *wire.ActorCreate) { q.OwnerID = make([]byte, ids.OwnerSize) },
		"another job":           func(q *wire.ActorCreate) { id := ids.NewActor(ids.JobOf(77)); q.ActorID = id[:] },
		"a negative amount":     func(q *wire.ActorCreate) { q.Resources = bad },
		"one to run with":       func(q *wire.ActorCreate) { q.RunResources = bad },
		"one of an alternative": func(q *wire.ActorCreate) { q.Fallback = []wire.Alternative{{Resources: bad}} },
		"too many alternatives": func(q *wire.ActorCreate) { q.Fallback = make([]wire.Alternative, wire.MaxAlternatives+1) },
	} {
		_, _, err := d.Actor("", change)
		wantCode(t, what, err, fault.BadRequest)
	}
	for _, m := range []wire.Type{wire.TActorCreate, wire.TActorKill, wire.TActorResolve, wire.TActorLost, wire.TActorByName, wire.TActorNames, wire.TKVPut, wire.TKVGet, wire.TObjCheck, wire.TWhoHolds, wire.TCensus, wire.TFootprint} {
		if err := d.Try(m, "nonsense", nil); fault.CodeOf(err) != fault.BadRequest {
			t.Errorf("%s with nonsense: %v", m, err)
		}
	}
	if n := tool.Info().Actors; n != 0 {
		t.Errorf("there are %d actors", n)
	}
	var why string
	d.Call(wire.TWhoHolds, wire.ClassTrouble{ClassID: 5}, &why)
	if why != "nothing of it waits for a worker" {
		t.Errorf("a class that nobody defined: %q", why)
	}
}
