package daemon_test

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

func (d *driver) actor(spec string, change func(*wire.ActorCreate)) (ids.Actor, wire.ActorCreated, error) {
	id, owner := ids.NewActor(ids.Job(d.job.JobID)), d.owner()
	q := wire.ActorCreate{
		ActorID: id[:], ClassName: "Counter", Namespace: "n", OwnerID: owner[:], OwnerAddr: d.hello.Addr, JobID: d.job.JobID,
		Resources: units(oneCPU), EnvKey: "default", MaxConcurrency: 1, Spec: []byte(spec), Meta: []byte("handle"), Token: "token",
	}
	if change != nil {
		change(&q)
	}
	var r wire.ActorCreated
	err := d.try(wire.TActorCreate, q, &r)
	return id, r, err
}

func (d *driver) made(spec string, change func(*wire.ActorCreate)) ids.Actor {
	d.t.Helper()
	id, _, err := d.actor(spec, change)
	if err != nil {
		d.t.Fatal(err)
	}
	return id
}

func (d *driver) resolve(id ids.Actor, after uint64) (s wire.ActorState) {
	d.t.Helper()
	d.call(wire.TActorResolve, wire.ActorResolve{ActorID: id[:], After: after}, &s)
	return s
}

func TestFlow_Actor_MadeReleasedAndGone(t *testing.T) {
	s := start(t, 1)
	d := s.driver(nil)
	id := d.made("", nil)
	st := d.resolve(id, 0)
	if st.State != wire.ActorAlive || st.Incarnation != 1 || st.Pid == 0 || st.Addr == "" {
		t.Fatalf("got %+v", st)
	}
	if i := d.info(); i.Available["CPU"] != 10000 || i.Actors != 1 {
		t.Errorf("an actor holds nothing while it runs: %+v", i)
	}
	d.push(wire.TActorRelease, wire.ActorRef{ActorID: id[:]})
	if st := d.resolve(id, 1); st.State != wire.ActorDead || st.Cause != string(fault.ActorDied) {
		t.Errorf("got %+v", st)
	}
	eventually(t, "its process ends", func() bool { return !running(st.Pid) })
	eventually(t, "it is counted no more", func() bool { return d.info().Actors == 0 })
}

func TestFlow_Actor_HoldsWhatItRunsWith(t *testing.T) {
	s := start(t, 2)
	d := s.driver(nil)
	id := d.made("", func(q *wire.ActorCreate) {
		q.RunResources = units(map[string]float64{"CPU": 1, "GPU": 1})
		q.Resources = q.RunResources
	})
	d.resolve(id, 0)
	if i := d.info(); i.Available["CPU"] != 10000 || i.Available["GPU"] != 10000 {
		t.Errorf("free are %v", i.Available)
	}
	d.call(wire.TActorKill, wire.ActorKill{ActorID: id[:], NoRestart: true}, nil)
	eventually(t, "it gives everything back", func() bool { i := d.info(); return i.Available["CPU"] == 20000 && i.Available["GPU"] == 20000 })
	if st := d.resolve(id, 0); st.State != wire.ActorDead {
		t.Errorf("got %+v", st)
	}
}

func TestFlow_Actor_ConstructorFails_CauseIsKept(t *testing.T) {
	s := start(t, 1)
	d := s.driver(nil)
	for spec, want := range map[string]string{"raises": "ValueError: no", "dies": "exited with code 9"} {
		if st := d.resolve(d.made(spec, nil), 0); st.State != wire.ActorDead || !strings.Contains(st.Message, want) {
			t.Errorf("%s: got %+v", spec, st)
		}
	}
	eventually(t, "nothing of them is left", func() bool { i := d.info(); return i.Actors == 0 && i.Available["CPU"] == 10000 })
}

func TestFlow_Actor_Restarts_AsOftenAsItMay(t *testing.T) {
	s := start(t, 1)
	d := s.driver(nil)
	id := d.made("", func(q *wire.ActorCreate) { q.MaxRestarts = 2 })
	pids := map[int]bool{}
	for incarnation := uint64(1); incarnation <= 3; incarnation++ {
		st := d.resolve(id, incarnation-1)
		if st.State != wire.ActorAlive || st.Incarnation != incarnation || pids[st.Pid] {
			t.Fatalf("incarnation %d: %+v", incarnation, st)
		}
		pids[st.Pid] = true
		if incarnation == 2 { // a kill that lets it restart costs one, too
			d.call(wire.TActorKill, wire.ActorKill{ActorID: id[:]}, nil)
		} else {
			_ = unix.Kill(st.Pid, unix.SIGKILL)
		}
	}
	if st := d.resolve(id, 3); st.State != wire.ActorDead || !strings.Contains(st.Message, "SIGKILL") {
		t.Errorf("got %+v", st)
	}
}

func TestFlow_Actor_Names_AreFoundTakenAndFree(t *testing.T) {
	s := start(t, 2)
	d := s.driver(nil)
	named := func(q *wire.ActorCreate) { q.Name = "it" }
	id := d.made("", named)
	d.resolve(id, 0)
	var found wire.ActorNamed
	d.call(wire.TActorByName, wire.ActorByName{Name: "it", Namespace: "n"}, &found)
	if string(found.ActorID) != string(id[:]) || string(found.Meta) != "handle" {
		t.Errorf("found %+v", found)
	}
	if err := d.try(wire.TActorByName, wire.ActorByName{Name: "it", Namespace: "other"}, &found); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("in another namespace: %v", err)
	}
	if _, _, err := d.actor("", named); fault.CodeOf(err) != fault.AlreadyExists {
		t.Errorf("once more: %v", err)
	}
	_, r, err := d.actor("", func(q *wire.ActorCreate) { named(q); q.GetIfExists = true })
	if err != nil || r.Existing == nil || string(r.Existing.ActorID) != string(id[:]) {
		t.Errorf("get if it exists: %+v, %v", r, err)
	}
	d.call(wire.TActorKill, wire.ActorKill{ActorID: id[:], NoRestart: true}, nil)
	d.resolve(id, 1)
	if next := d.made("", named); d.resolve(next, 0).State != wire.ActorAlive {
		t.Error("the name of a dead actor is not free")
	}
}

func TestFlow_Actor_OfAnEndedJob_EndsUnlessDetached(t *testing.T) {
	s := start(t, 2)
	d, other := s.driver(nil), s.driver(nil)
	mine := d.made("", nil)
	stays := d.made("", func(q *wire.ActorCreate) { q.Detached, q.Name, q.Token = true, "stays", "" })
	a, b := d.resolve(mine, 0), d.resolve(stays, 0)
	d.peer.Close()
	if st := other.resolve(mine, 1); st.State != wire.ActorDead {
		t.Errorf("got %+v", st)
	}
	eventually(t, "its process ends", func() bool { return !running(a.Pid) })
	if st := other.resolve(stays, 0); st.State != wire.ActorAlive || st.Pid != b.Pid || !running(b.Pid) {
		t.Errorf("the detached one: %+v", st)
	}
	_ = unix.Kill(b.Pid, unix.SIGKILL)
	if st := other.resolve(stays, 1); st.State != wire.ActorDead {
		t.Errorf("got %+v", st)
	}
}

func TestFlow_Actor_NoNodeCanEverTakeIt_IsAnError(t *testing.T) {
	s := start(t, 1)
	d := s.driver(nil)
	id, _, err := d.actor("", func(q *wire.ActorCreate) { q.Resources = units(map[string]float64{"CPU": 5}) })
	if err != nil {
		if !strings.Contains(err.Error(), "CPU") {
			t.Errorf("got %v", err)
		}
		return
	}
	if st := d.resolve(id, 0); st.State == wire.ActorAlive || !strings.Contains(st.Message, "CPU") {
		t.Errorf("got %+v", st)
	}
}
