package system

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

func (d *driver) actor(spec string, change func(*wire.ActorCreate)) (ids.Actor, wire.ActorCreated, error) {
	id := ids.NewActor(ids.Job(d.job.JobID))
	owner := d.owner()
	q := wire.ActorCreate{
		ActorID: id[:], ClassName: "Counter", Namespace: "n", OwnerID: owner[:], OwnerAddr: d.hello.Addr, JobID: d.job.JobID,
		Resources: units(map[string]float64{"CPU": 1}), EnvKey: "default", MaxConcurrency: 1, Spec: []byte(spec),
		Meta: []byte("handle"), Token: "token",
	}
	if change != nil {
		change(&q)
	}
	var r wire.ActorCreated
	err := d.try(wire.TActorCreate, q, &r)
	return id, r, err
}

func (d *driver) resolve(id ids.Actor, after uint64) (s wire.ActorState) {
	d.t.Helper()
	d.call(wire.TActorResolve, wire.ActorResolve{ActorID: id[:], After: after}, &s)
	return s
}

func (d *driver) at(s wire.ActorState) *held {
	return &held{d: d, LeaseGrant: wire.LeaseGrant{Addr: s.Addr, Pid: s.Pid}}
}

func TestActor_CreateResolveRelease(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 1})
	d := s.start(nil)
	id, _, err := d.actor("", nil)
	if err != nil {
		t.Fatal(err)
	}
	st := d.resolve(id, 0)
	if st.State != wire.ActorAlive || st.Incarnation != 1 || st.Pid == 0 {
		t.Fatalf("%+v", st)
	}
	if got := d.at(st).tell("pid"); got != fmt.Sprint(st.Pid) {
		t.Errorf("its worker says %s", got)
	}
	if free := d.info().Available["CPU"]; free != 10000 {
		t.Errorf("an actor without a CPU holds some: free %d", free)
	}
	d.push(wire.TActorRelease, wire.ActorRef{ActorID: id[:]})
	if st := d.resolve(id, 1); st.State != wire.ActorDead || st.Cause != string(fault.ActorDied) {
		t.Errorf("%+v", st)
	}
}

func TestActor_ConstructorRaises_IsDeadWithCause(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 1})
	d := s.start(nil)
	id, _, err := d.actor("raises", nil)
	if err != nil {
		t.Fatal(err)
	}
	if st := d.resolve(id, 0); st.State != wire.ActorDead || !strings.Contains(st.Message, "ValueError: no") {
		t.Errorf("%+v", st)
	}
	eventually(t, "its worker ends", func() bool { return d.info().Actors == 0 })
}

func TestActor_AskedForBeforeItsCreationArrived_IsFound(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 1})
	a, b := s.start(nil), s.start(nil)
	id := ids.NewActor(ids.Job(a.job.JobID))
	got := make(chan wire.ActorState, 1)
	b.peer.Go(wire.TActorResolve, wire.ActorResolve{ActorID: id[:]}, func(m *wire.Message, err error) {
		var st wire.ActorState
		if err != nil {
			st.Message = err.Error()
		} else {
			_ = m.Decode(&st)
		}
		got <- st
	})
	b.info()
	if _, _, err := a.actor("", func(q *wire.ActorCreate) { q.ActorID = id[:] }); err != nil {
		t.Fatal(err)
	}
	if st := <-got; st.State != wire.ActorAlive {
		t.Errorf("%+v", st)
	}
	// One that never comes is not waited for for ever.
	never := ids.NewActor(ids.Job(a.job.JobID))
	wantCode(t, b.try(wire.TActorResolve, wire.ActorResolve{ActorID: never[:]}, nil), fault.NotFound, never.String())
}

func TestActor_ConstructorRaisesAndProcessEnds_CauseIsKept(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 2})
	d := s.start(nil)
	for range 20 {
		id, _, err := d.actor("raises and dies", nil)
		if err != nil {
			t.Fatal(err)
		}
		if st := d.resolve(id, 0); st.State != wire.ActorDead || !strings.Contains(st.Message, "ValueError: no") {
			t.Fatalf("%+v", st)
		}
	}
}

func TestActor_Killed_RestartsWhileItMay(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 1})
	d := s.start(nil)
	id, _, err := d.actor("", func(q *wire.ActorCreate) { q.MaxRestarts = 1 })
	if err != nil {
		t.Fatal(err)
	}
	st := d.resolve(id, 0)
	_ = unix.Kill(st.Pid, unix.SIGKILL)
	again := d.resolve(id, 1)
	if again.State != wire.ActorAlive || again.Incarnation != 2 || again.Pid == st.Pid {
		t.Fatalf("%+v", again)
	}
	_ = unix.Kill(again.Pid, unix.SIGKILL)
	dead := d.resolve(id, 2)
	if dead.State != wire.ActorDead || !strings.Contains(dead.Message, "was killed by signal 9 (SIGKILL)") {
		t.Errorf("%+v", dead)
	}
}

func TestActor_Kill_EndsIt(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 1})
	d := s.start(nil)
	id, _, err := d.actor("", func(q *wire.ActorCreate) { q.MaxRestarts = -1 })
	if err != nil {
		t.Fatal(err)
	}
	st := d.resolve(id, 0)
	d.call(wire.TActorKill, wire.ActorKill{ActorID: id[:]}, nil)
	if running(st.Pid) {
		t.Error("it restarts, and the call was answered before its process was gone")
	}
	st = d.resolve(id, 1)
	var fate wire.ActorFate
	d.call(wire.TActorKill, wire.ActorKill{ActorID: id[:], NoRestart: true}, &fate)
	if fate.State != wire.ActorDead || !strings.Contains(fate.Message, "killed by `ray.kill`") {
		t.Errorf("the answer is %+v", fate)
	}
	eventually(t, "its process is gone", func() bool { return !running(st.Pid) })
	if dead := d.resolve(id, 1); dead.State != wire.ActorDead || !strings.Contains(dead.Message, "class_name: Counter\n\tactor_id: "+id.String()) || !strings.Contains(dead.Message, "killed by `ray.kill`") {
		t.Errorf("%+v", dead)
	}
}

func TestActor_Names(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 1})
	d := s.start(nil)
	named := func(q *wire.ActorCreate) { q.Name = "boss" }
	id, _, err := d.actor("", named)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = d.actor("", named)
	wantCode(t, err, fault.AlreadyExists, "boss")
	_, r, err := d.actor("", func(q *wire.ActorCreate) { q.Name, q.GetIfExists = "boss", true })
	if err != nil || r.Existing == nil || ids.Actor(r.Existing.ActorID) != id || string(r.Existing.Meta) != "handle" {
		t.Errorf("%+v, %v", r.Existing, err)
	}
	var got wire.ActorNamed
	d.call(wire.TActorByName, wire.ActorByName{Name: "boss", Namespace: "n"}, &got)
	if ids.Actor(got.ActorID) != id {
		t.Error("the name leads elsewhere")
	}
	wantCode(t, d.try(wire.TActorByName, wire.ActorByName{Name: "none", Namespace: "n"}, &got), fault.NotFound, "none")
	var names []wire.ActorName
	d.call(wire.TActorNames, wire.ActorNames{All: true}, &names)
	if len(names) != 1 || names[0].Name != "boss" {
		t.Errorf("%v", names)
	}
}

func TestActor_Infeasible_IsSaid(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 1})
	d := s.start(nil)
	id, _, err := d.actor("", func(q *wire.ActorCreate) { q.Resources = units(map[string]float64{"GPU": 1}) })
	if err != nil {
		t.Fatal(err)
	}
	if st := d.resolve(id, 0); st.State != wire.ActorUnschedulable || !strings.Contains(st.Message, `needs {"GPU": 1}`) {
		t.Errorf("%+v", st)
	}
}

func TestActor_DriverGone_DetachedStays(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 2})
	a, b := s.start(nil), s.start(nil)
	detached, _, err := a.actor("", func(q *wire.ActorCreate) { q.Detached, q.Name, q.MaxRestarts = true, "stays", 1 })
	if err != nil {
		t.Fatal(err)
	}
	plain, _, err := a.actor("", nil)
	if err != nil {
		t.Fatal(err)
	}
	st := a.resolve(detached, 0)
	gone := a.resolve(plain, 0)
	a.call(wire.TJobEnd, nil, nil)
	a.close()
	if dead := b.resolve(plain, 1); dead.State != wire.ActorDead {
		t.Errorf("%+v", dead)
	}
	eventually(t, "the plain actor's process is gone", func() bool { return !running(gone.Pid) })
	if got := b.at(st).tell("pid"); got != fmt.Sprint(st.Pid) {
		t.Errorf("the detached actor says %q", got)
	}
	// It restarts after its job's end.
	_ = unix.Kill(st.Pid, unix.SIGKILL)
	if again := b.resolve(detached, 1); again.State != wire.ActorAlive || again.Incarnation != 2 {
		t.Errorf("%+v", again)
	}
	b.call(wire.TActorKill, wire.ActorKill{ActorID: detached[:], NoRestart: true}, nil)
	eventually(t, "nothing is left of the job", func() bool { return b.info().Actors == 0 })
}

func TestActor_Burst_AllComeUp(t *testing.T) {
	n := 200
	if raceEnabled {
		n = 40
	}
	s := startSession(t, map[string]any{"num_cpus": 2})
	d := s.start(map[string]string{"GOMAXPROCS": "1"})
	began := time.Now()
	var all []ids.Actor
	for range n {
		id, _, err := d.actor("", nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, id)
	}
	for _, id := range all {
		if st := d.resolve(id, 0); st.State != wire.ActorAlive {
			t.Fatalf("%+v", st)
		}
	}
	t.Logf("%d actors in %v", n, time.Since(began))
	began = time.Now()
	s.end()
	t.Logf("ended in %v", time.Since(began))
}

func (d *driver) lost(id ids.Actor, incarnation uint64) (f wire.ActorFate) {
	d.t.Helper()
	d.call(wire.TActorLost, wire.ActorLost{ActorID: id[:], Incarnation: incarnation, Conn: 1}, &f)
	return f
}

func TestActor_ConnectionLost_FateIsTold(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 1})
	d := s.start(nil)
	id, _, err := d.actor("", func(q *wire.ActorCreate) { q.MaxRestarts = 1 })
	if err != nil {
		t.Fatal(err)
	}
	st := d.resolve(id, 0)
	if f := d.lost(id, 1); f.State != wire.ActorAlive || f.Known || !strings.Contains(f.Message, fmt.Sprintf("pid: %d", st.Pid)) {
		t.Errorf("while it lives: %+v", f)
	}
	_ = unix.Kill(st.Pid, unix.SIGKILL)
	if f := d.lost(id, 1); f.State != wire.ActorRestarting || f.Known || !strings.Contains(f.Message, "SIGKILL") {
		t.Errorf("after its death, without a page: %+v", f)
	}
	again := d.resolve(id, 1)
	_ = unix.Kill(again.Pid, unix.SIGKILL)
	for _, inc := range []uint64{2, 1, wire.ActorNever} {
		if f := d.lost(id, inc); f.State != wire.ActorDead || !strings.Contains(f.Message, "max_restarts allows, which is 1") {
			t.Errorf("after the last one, incarnation %d: %+v", inc, f)
		}
	}
	never := ids.NewActor(ids.Job(d.job.JobID))
	if f := d.lost(never, 1); f.State != wire.ActorDead {
		t.Errorf("one that nobody knows: %+v", f)
	}
}

func TestActor_PageOfStartedCalls_IsForItsWorkerOnly(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 1})
	d := s.start(nil)
	id, _, err := d.actor("", func(q *wire.ActorCreate) { q.MaxRestarts = 1 })
	if err != nil {
		t.Fatal(err)
	}
	owner := d.owner()
	st := d.resolve(id, 0)
	for _, who := range [][]byte{owner[:], st.WorkerID[:ids.OwnerSize], nil, []byte("short")} {
		_, _, fd, err := wire.Dial(s.dir+"/d.sock", wire.Hello{Version: wire.Version, Role: wire.RoleStarted, OwnerID: who})
		if fault.CodeOf(err) != fault.BadRequest || fd >= 0 {
			t.Errorf("%x got descriptor %d, %v", who, fd, err)
		}
	}
}
