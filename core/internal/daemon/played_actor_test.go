package daemon_test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/daemon"
	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestActor_CreateResolveRelease(t *testing.T) {
	s := play.Start(t, 1)
	d := s.Driver(nil)
	id, _, err := d.Actor("", nil)
	if err != nil {
		t.Fatal(err)
	}
	st := d.Resolve(id, 0)
	if st.State != wire.ActorAlive || st.Incarnation != 1 || st.Pid == 0 {
		t.Fatalf("%+v", st)
	}
	if got := d.At(st).Tell("pid"); got != fmt.Sprint(st.Pid) {
		t.Errorf("its worker says %s", got)
	}
	if free := d.Info().Available["CPU"]; free != 10000 {
		t.Errorf("an actor without a CPU holds some: free %d", free)
	}
	d.Push(wire.TActorRelease, wire.ActorRef{ActorID: id[:]})
	if st := d.Resolve(id, 1); st.State != wire.ActorDead || st.Cause != string(fault.ActorDied) {
		t.Errorf("%+v", st)
	}
}

func TestActor_AskedForBeforeItsCreationArrived_IsFound(t *testing.T) {
	s := play.Start(t, 1)
	a, b := s.Driver(nil), s.Driver(nil)
	id := ids.NewActor(ids.Job(a.Job.JobID))
	got := make(chan wire.ActorState, 1)
	b.Peer.Go(wire.TActorResolve, wire.ActorResolve{ActorID: id[:]}, func(m *wire.Message, err error) {
		var st wire.ActorState
		if err != nil {
			st.Message = err.Error()
		} else {
			_ = m.Decode(&st)
		}
		got <- st
	})
	b.Info()
	if _, _, err := a.Actor("", func(q *wire.ActorCreate) { q.ActorID = id[:] }); err != nil {
		t.Fatal(err)
	}
	if st := <-got; st.State != wire.ActorAlive {
		t.Errorf("%+v", st)
	}
	// One that never comes is not waited for for ever.
	never := ids.NewActor(ids.Job(a.Job.JobID))
	play.WantCode(t, b.Try(wire.TActorResolve, wire.ActorResolve{ActorID: never[:]}, nil), fault.NotFound, never.String())
}

func TestActor_ConstructorRaisesAndProcessEnds_CauseIsKept(t *testing.T) {
	s := play.Start(t, 2)
	d := s.Driver(nil)
	for range 20 {
		id, _, err := d.Actor("raises and dies", nil)
		if err != nil {
			t.Fatal(err)
		}
		if st := d.Resolve(id, 0); st.State != wire.ActorDead || !strings.Contains(st.Message, "ValueError: no") {
			t.Fatalf("%+v", st)
		}
	}
}

func TestActor_Kill_EndsIt(t *testing.T) {
	s := play.Start(t, 1)
	d := s.Driver(nil)
	id, _, err := d.Actor("", func(q *wire.ActorCreate) { q.MaxRestarts = -1 })
	if err != nil {
		t.Fatal(err)
	}
	st := d.Resolve(id, 0)
	d.Call(wire.TActorKill, wire.ActorKill{ActorID: id[:]}, nil)
	if play.Running(st.Pid) {
		t.Error("it restarts, and the call was answered before its process was gone")
	}
	st = d.Resolve(id, 1)
	var death wire.ActorDeath
	d.Call(wire.TActorKill, wire.ActorKill{ActorID: id[:], NoRestart: true}, &death)
	if death.State != wire.ActorDead || !strings.Contains(death.Message, "killed by `ray.kill`") {
		t.Errorf("the answer is %+v", death)
	}
	play.Eventually(t, "its process is gone", func() bool { return !play.Running(st.Pid) })
	if dead := d.Resolve(id, 1); dead.State != wire.ActorDead || !strings.Contains(dead.Message, "class_name: Counter\n\tactor_id: "+id.String()) || !strings.Contains(dead.Message, "killed by `ray.kill`") {
		t.Errorf("%+v", dead)
	}
}

func TestActor_Names(t *testing.T) {
	s := play.Start(t, 1)
	d := s.Driver(nil)
	named := func(q *wire.ActorCreate) { q.Name = "boss" }
	id, _, err := d.Actor("", named)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = d.Actor("", named)
	play.WantCode(t, err, fault.AlreadyExists, "boss")
	_, r, err := d.Actor("", func(q *wire.ActorCreate) { q.Name, q.GetIfExists = "boss", true })
	if err != nil || r.Existing == nil || ids.Actor(r.Existing.ActorID) != id || string(r.Existing.Meta) != "handle" {
		t.Errorf("%+v, %v", r.Existing, err)
	}
	var got wire.ActorNamed
	d.Call(wire.TActorByName, wire.ActorByName{Name: "boss", Namespace: "n"}, &got)
	if ids.Actor(got.ActorID) != id {
		t.Error("the name leads elsewhere")
	}
	play.WantCode(t, d.Try(wire.TActorByName, wire.ActorByName{Name: "none", Namespace: "n"}, &got), fault.NotFound, "none")
	var names []wire.ActorName
	d.Call(wire.TActorNames, wire.ActorNames{All: true}, &names)
	if len(names) != 1 || names[0].Name != "boss" {
		t.Errorf("%v", names)
	}
}

func TestActor_Infeasible_IsSaid(t *testing.T) {
	s := play.StartWith(t, 1, func(o *daemon.Options) { o.Devices = play.GPUs(0) })
	d := s.Driver(nil)
	id, _, err := d.Actor("", func(q *wire.ActorCreate) { q.Resources = play.Units(map[string]float64{"GPU": 1}) })
	if err != nil {
		t.Fatal(err)
	}
	if st := d.Resolve(id, 0); st.State != wire.ActorUnschedulable || !strings.Contains(st.Message, `needs {"GPU": 1}`) {
		t.Errorf("%+v", st)
	}
}

func TestActor_DriverGone_DetachedStays(t *testing.T) {
	s := play.Start(t, 2)
	a, b := s.Driver(nil), s.Driver(nil)
	detached, _, err := a.Actor("", func(q *wire.ActorCreate) { q.Detached, q.Name, q.MaxRestarts = true, "stays", 1 })
	if err != nil {
		t.Fatal(err)
	}
	plain, _, err := a.Actor("", nil)
	if err != nil {
		t.Fatal(err)
	}
	st := a.Resolve(detached, 0)
	gone := a.Resolve(plain, 0)
	a.Call(wire.TJobEnd, nil, nil)
	a.Peer.Close()
	if dead := b.Resolve(plain, 1); dead.State != wire.ActorDead {
		t.Errorf("%+v", dead)
	}
	play.Eventually(t, "the plain actor's process is gone", func() bool { return !play.Running(gone.Pid) })
	if got := b.At(st).Tell("pid"); got != fmt.Sprint(st.Pid) {
		t.Errorf("the detached actor says %q", got)
	}
	// It restarts after its job's end.
	_ = unix.Kill(st.Pid, unix.SIGKILL)
	if again := b.Resolve(detached, 1); again.State != wire.ActorAlive || again.Incarnation != 2 {
		t.Errorf("%+v", again)
	}
	b.Call(wire.TActorKill, wire.ActorKill{ActorID: detached[:], NoRestart: true}, nil)
	play.Eventually(t, "nothing is left of the job", func() bool {
		var n map[string]uint64
		b.Call(wire.TFootprint, wire.FootprintAsk{}, &n)
		return b.Info().Actors == 0 && n["n_jobs"] == 1 && n["n_zygotes"] <= 1
	})
}

func TestActor_ConnectionLost_CallerIsTold(t *testing.T) {
	s := play.Start(t, 1)
	d := s.Driver(nil)
	id, _, err := d.Actor("", func(q *wire.ActorCreate) { q.MaxRestarts = 1 })
	if err != nil {
		t.Fatal(err)
	}
	st := d.Resolve(id, 0)
	if f := d.Lost(id, 1); f.State != wire.ActorAlive || f.Known || !strings.Contains(f.Message, fmt.Sprintf("pid: %d", st.Pid)) {
		t.Errorf("while it lives: %+v", f)
	}
	_ = unix.Kill(st.Pid, unix.SIGKILL)
	if f := d.Lost(id, 1); f.State != wire.ActorRestarting || f.Known || !strings.Contains(f.Message, "SIGKILL") {
		t.Errorf("after its death, without a page: %+v", f)
	}
	again := d.Resolve(id, 1)
	_ = unix.Kill(again.Pid, unix.SIGKILL)
	for _, inc := range []uint64{2, 1, wire.ActorNever} {
		if f := d.Lost(id, inc); f.State != wire.ActorDead || !strings.Contains(f.Message, "max_restarts allows, which is 1") {
			t.Errorf("after the last one, incarnation %d: %+v", inc, f)
		}
	}
	never := ids.NewActor(ids.Job(d.Job.JobID))
	if f := d.Lost(never, 1); f.State != wire.ActorDead {
		t.Errorf("one that nobody knows: %+v", f)
	}
}

func TestActor_PageOfStartedCalls_IsForItsWorkerOnly(t *testing.T) {
	s := play.Start(t, 1)
	d := s.Driver(nil)
	id, _, err := d.Actor("", func(q *wire.ActorCreate) { q.MaxRestarts = 1 })
	if err != nil {
		t.Fatal(err)
	}
	owner := d.Owner()
	st := d.Resolve(id, 0)
	for _, who := range [][]byte{owner[:], st.WorkerID[:ids.OwnerSize], nil, []byte("short")} {
		_, _, fd, err := wire.Dial(s.Dir+"/d.sock", wire.Hello{Version: wire.Version, Role: wire.RoleProgress, OwnerID: who})
		if fault.CodeOf(err) != fault.BadRequest || fd >= 0 {
			t.Errorf("%x got descriptor %d, %v", who, fd, err)
		}
	}
}
