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

func TestFlow_Actor_MadeReleasedAndGone(t *testing.T) {
	s := play.Start(t, 1)
	d := s.Driver(nil)
	id := d.Made("", nil)
	st := d.Resolve(id, 0)
	if st.State != wire.ActorAlive || st.Incarnation != 1 || st.Pid == 0 || st.Addr != wire.AddressOf(ids.Worker(st.WorkerID).Owner()) {
		t.Fatalf("got %+v", st)
	}
	if i := d.Info(); i.Available["CPU"] != 10000 || i.Actors != 1 {
		t.Errorf("an actor holds nothing while it runs: %+v", i)
	}
	d.Push(wire.TActorRelease, wire.ActorRef{ActorID: id[:]})
	if st := d.Resolve(id, 1); st.State != wire.ActorDead || st.Cause != string(fault.ActorDied) {
		t.Errorf("got %+v", st)
	}
	play.Eventually(t, "its process ends", func() bool { return !play.Running(st.Pid) })
	play.Eventually(t, "it is counted no more", func() bool { return d.Info().Actors == 0 })
}

func TestFlow_Actor_HoldsWhatItRunsWith(t *testing.T) {
	s := play.Start(t, 2)
	d := s.Driver(nil)
	id := d.Made("", func(q *wire.ActorCreate) {
		q.RunResources = play.Units(map[string]float64{"CPU": 1, "GPU": 1})
		q.Resources = q.RunResources
	})
	d.Resolve(id, 0)
	if i := d.Info(); i.Available["CPU"] != 10000 || i.Available["GPU"] != 10000 {
		t.Errorf("free are %v", i.Available)
	}
	d.Call(wire.TActorKill, wire.ActorKill{ActorID: id[:], NoRestart: true}, nil)
	play.Eventually(t, "it gives everything back", func() bool { i := d.Info(); return i.Available["CPU"] == 20000 && i.Available["GPU"] == 20000 })
	if st := d.Resolve(id, 0); st.State != wire.ActorDead {
		t.Errorf("got %+v", st)
	}
}

func TestFlow_Actor_ConstructorFails_CauseIsKept(t *testing.T) {
	s := play.Start(t, 1)
	d := s.Driver(nil)
	for spec, want := range map[string]string{"raises": "ValueError: no", "dies": "ended with exit code 9"} {
		if st := d.Resolve(d.Made(spec, nil), 0); st.State != wire.ActorDead || !strings.Contains(st.Message, want) {
			t.Errorf("%s: got %+v", spec, st)
		}
	}
	play.Eventually(t, "nothing of them is left", func() bool { i := d.Info(); return i.Actors == 0 && i.Available["CPU"] == 10000 })
}

func TestFlow_Actor_Restarts_AsOftenAsItMay(t *testing.T) {
	s := play.Start(t, 1)
	d := s.Driver(nil)
	id := d.Made("", func(q *wire.ActorCreate) { q.MaxRestarts = 2 })
	pids := map[int]bool{}
	for incarnation := uint64(1); incarnation <= 3; incarnation++ {
		st := d.Resolve(id, incarnation-1)
		if st.State != wire.ActorAlive || st.Incarnation != incarnation || pids[st.Pid] {
			t.Fatalf("incarnation %d: %+v", incarnation, st)
		}
		pids[st.Pid] = true
		if incarnation == 2 { // a kill that lets it restart costs one, too
			d.Call(wire.TActorKill, wire.ActorKill{ActorID: id[:]}, nil)
		} else {
			_ = unix.Kill(st.Pid, unix.SIGKILL)
		}
	}
	if st := d.Resolve(id, 3); st.State != wire.ActorDead || !strings.Contains(st.Message, "SIGKILL") {
		t.Errorf("got %+v", st)
	}
}

// Only an actor that ends itself is gone for good while it may restart: a task's cancellation is not its doing.
func TestFlow_Actor_EndsOnPurpose_RestartsUnlessItEndedItself(t *testing.T) {
	s := play.Start(t, 1)
	d := s.Driver(nil)
	for reason, want := range map[string]string{wire.ExitForced: wire.ActorAlive, "exit_actor": wire.ActorDead} {
		id := d.Made("", func(q *wire.ActorCreate) { q.MaxRestarts = 1 })
		first := d.Resolve(id, 0)
		d.At(first).Tell("leave " + reason)
		st := d.Resolve(id, 1)
		if st.State != want || want == wire.ActorAlive && (st.Incarnation != 2 || st.Pid == first.Pid) {
			t.Errorf("its worker ended because of %q: %+v", reason, st)
			continue
		}
		if want == wire.ActorAlive {
			d.At(st).Tell("leave " + reason)
			if st = d.Resolve(id, 2); st.State != wire.ActorDead || !strings.Contains(st.Message, "has died") || !strings.Contains(st.Message, reason) {
				t.Errorf("after the last restart: %+v", st)
			}
		}
	}
}

func TestFlow_Actor_Names_AreFoundTakenAndFree(t *testing.T) {
	s := play.Start(t, 2)
	d := s.Driver(nil)
	named := func(q *wire.ActorCreate) { q.Name = "it" }
	id := d.Made("", named)
	d.Resolve(id, 0)
	var found wire.ActorNamed
	d.Call(wire.TActorByName, wire.ActorByName{Name: "it", Namespace: "n"}, &found)
	if string(found.ActorID) != string(id[:]) || string(found.Meta) != "handle" {
		t.Errorf("found %+v", found)
	}
	if err := d.Try(wire.TActorByName, wire.ActorByName{Name: "it", Namespace: "other"}, &found); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("in another namespace: %v", err)
	}
	if _, _, err := d.Actor("", named); fault.CodeOf(err) != fault.AlreadyExists {
		t.Errorf("once more: %v", err)
	}
	_, r, err := d.Actor("", func(q *wire.ActorCreate) { named(q); q.GetIfExists = true })
	if err != nil || r.Existing == nil || string(r.Existing.ActorID) != string(id[:]) {
		t.Errorf("get if it exists: %+v, %v", r, err)
	}
	d.Call(wire.TActorKill, wire.ActorKill{ActorID: id[:], NoRestart: true}, nil)
	d.Resolve(id, 1)
	if next := d.Made("", named); d.Resolve(next, 0).State != wire.ActorAlive {
		t.Error("the name of a dead actor is not free")
	}
}

func TestFlow_Actor_OfAnEndedJob_EndsUnlessDetached(t *testing.T) {
	s := play.Start(t, 2)
	d, other := s.Driver(nil), s.Driver(nil)
	mine := d.Made("", nil)
	stays := d.Made("", func(q *wire.ActorCreate) { q.Detached, q.Name, q.Token = true, "stays", "" })
	a, b := d.Resolve(mine, 0), d.Resolve(stays, 0)
	d.Peer.Close()
	if st := other.Resolve(mine, 1); st.State != wire.ActorDead {
		t.Errorf("got %+v", st)
	}
	play.Eventually(t, "its process ends", func() bool { return !play.Running(a.Pid) })
	if st := other.Resolve(stays, 0); st.State != wire.ActorAlive || st.Pid != b.Pid || !play.Running(b.Pid) {
		t.Errorf("the detached one: %+v", st)
	}
	_ = unix.Kill(b.Pid, unix.SIGKILL)
	if st := other.Resolve(stays, 1); st.State != wire.ActorDead {
		t.Errorf("got %+v", st)
	}
}

func TestFlow_Actor_NoNodeCanEverTakeIt_IsAnError(t *testing.T) {
	s := play.Start(t, 1)
	d := s.Driver(nil)
	id, _, err := d.Actor("", func(q *wire.ActorCreate) { q.Resources = play.Units(map[string]float64{"CPU": 5}) })
	if err != nil {
		if !strings.Contains(err.Error(), "CPU") {
			t.Errorf("got %v", err)
		}
		return
	}
	if st := d.Resolve(id, 0); st.State == wire.ActorAlive || !strings.Contains(st.Message, "CPU") {
		t.Errorf("got %+v", st)
	}
}
