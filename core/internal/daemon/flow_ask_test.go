package daemon_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func wantCode(t *testing.T, what string, err error, code fault.Code) {
	t.Helper()
	if fault.CodeOf(err) != code {
		t.Errorf("%s: got %v, want %s", what, err, code)
	}
}

func TestFlow_Hello_TellsWhoOneIs(t *testing.T) {
	s := play.Start(t, 3)
	d := s.Driver(nil)
	h := d.Hello
	if h.Version != wire.Version || h.SessionDir != s.Dir || h.DaemonPid != os.Getpid() || h.ArenaBytes != 100<<20 || h.Totals.Resources["CPU"] != 30000 {
		t.Errorf("got %+v", h)
	}
	if !strings.HasSuffix(h.Socket, "/p/"+d.Owner().String()+".sock") || d.Owner().Node() != play.Number || d.Job.Namespace != "n" {
		t.Errorf("it listens at %s as %s, its namespace is %s", h.Socket, d.Owner(), d.Job.Namespace)
	}
	cli := s.Tool()
	if len(cli.Hello.WorkerID) != 0 || cli.Hello.Socket != "" {
		t.Errorf("a command line tool owns nothing: %+v", cli.Hello)
	}
	for what, hello := range map[string]wire.Hello{
		"another version":       {Version: wire.Version + 1, Role: wire.RoleDriver},
		"no role":               {Version: wire.Version, Role: "king"},
		"a worker of nobody":    {Version: wire.Version, Role: wire.RoleWorker, Token: "guessed"},
		"a worker, no token":    {Version: wire.Version, Role: wire.RoleWorker},
		"a successor of nobody": {Version: wire.Version, Role: wire.RoleSuccessor, Token: "guessed"},
	} {
		if u, _, _, err := wire.Dial(s.Dir+"/d.sock", hello); err == nil {
			u.Close()
			t.Errorf("%s gets in", what)
		}
	}
}

func TestFlow_Requests_ThatAreWrong_AreRefused(t *testing.T) {
	s := play.Start(t, 1)
	d, cli := s.Driver(nil), s.Tool()
	wantCode(t, "a second job", d.Try(wire.TJobStart, wire.JobStart{}, nil), fault.BadRequest)
	wantCode(t, "a tool's job", cli.Try(wire.TJobStart, wire.JobStart{}, nil), fault.BadRequest)
	wantCode(t, "not a worker", d.Try(wire.TWorkerReady, wire.WorkerReady{}, nil), fault.BadRequest)
	wantCode(t, "a short actor id", d.Try(wire.TActorResolve, wire.ActorResolve{ActorID: []byte("x")}, nil), fault.BadRequest)
	wantCode(t, "a short object id", d.Try(wire.TObjPin, wire.ObjPin{ObjectID: []byte("x")}, nil), fault.BadRequest)
	many := map[string]int64{}
	for i := range wire.MaxAmounts + 1 {
		many[fmt.Sprint("r", i)] = 1
	}
	bad := map[string]int64{"CPU": -1}
	for what, k := range map[string]wire.ClassDefine{
		"a negative amount":             {ClassID: 1, Resources: bad},
		"too many resources":            {ClassID: 1, Resources: many},
		"a negative alternative":        {ClassID: 1, Fallback: []wire.Alternative{{Resources: bad}}},
		"a negative amount to run with": {ClassID: 1, Fallback: []wire.Alternative{{RunResources: bad}}},
		"a negative time":               {ClassID: 1, AfterMs: -1},
		"too many alternatives":         {ClassID: 1, Fallback: make([]wire.Alternative, wire.MaxAlternatives+1)},
	} {
		wantCode(t, what, d.Try(wire.TClassDefine, k, nil), fault.BadRequest)
	}
	delete(many, "r0")
	d.Push(wire.TClassDefine, wire.ClassDefine{ClassID: 5, Resources: map[string]int64{"CPU": 0}, EnvKey: "default", Fallback: make([]wire.Alternative, wire.MaxAlternatives)})
	d.Want(5, 1)
	if d.Lease().ClassID != 5 {
		t.Error("what is just allowed is refused")
	}
}

func TestFlow_Census_ShowsProcessesActorsAndJobs(t *testing.T) {
	s := play.Start(t, 2)
	d := s.Driver(nil)
	d.Class(1, play.OneCPU, "default")
	d.Want(1, 1)
	a := d.Lease()
	id := d.Made("", func(q *wire.ActorCreate) { q.Name = "it" })
	st := d.Resolve(id, 0)
	var c wire.Census
	cli := s.Tool()
	cli.Call(wire.TCensus, wire.CensusAsk{}, &c)
	alive := map[int]string{}
	for _, w := range c.Parts[0].Workers {
		if w.Alive {
			alive[w.Pid] += w.Role
			if w.Role == wire.RoleWorker && (w.StartedMs == 0 || w.Pid == st.Pid != bytes.Equal(w.ActorID, id[:])) {
				t.Errorf("worker %+v", w)
			}
		}
	}
	if alive[a.Pid] != wire.RoleWorker || alive[st.Pid] != wire.RoleWorker || alive[os.Getpid()] != wire.RoleDriver {
		t.Errorf("alive are %v", alive)
	}
	if len(c.Actors) != 1 || c.Actors[0].State != "ALIVE" || c.Actors[0].Name != "it" || c.Actors[0].Pid != st.Pid || len(c.Actors[0].NodeID) == 0 {
		t.Errorf("actors %+v", c.Actors)
	}
	if len(c.Jobs) != 1 || c.Jobs[0].Entrypoint != "prog.py" || c.Jobs[0].Pid != os.Getpid() || len(c.Nodes) != 1 {
		t.Errorf("jobs %+v", c.Jobs)
	}
	d.Want(1, 0)
	_ = unix.Kill(a.Pid, unix.SIGKILL)
	var x wire.LeaseBroken
	d.Expect(wire.TLeaseBroken, &x)
	cli.Call(wire.TCensus, wire.CensusAsk{}, &c)
	found := false
	for _, w := range c.Parts[0].Workers {
		found = found || w.Pid == a.Pid && !w.Alive && w.EndedMs > 0 && strings.Contains(w.Detail, "SIGKILL")
	}
	if !found {
		t.Errorf("the worker that has ended is not told: %+v", c.Parts[0].Workers)
	}
}

// Who lost its connection to an actor is told what became of it.
func TestFlow_ActorLost_ItsEndIsTold(t *testing.T) {
	s := play.Start(t, 2)
	d := s.Driver(nil)
	id := d.Made("", func(q *wire.ActorCreate) { q.MaxRestarts = 1 })
	st := d.Resolve(id, 0)
	var death wire.ActorDeath
	d.Call(wire.TActorLost, wire.ActorLost{ActorID: id[:], Incarnation: 1}, &death)
	if death.State != wire.ActorAlive || death.Cause != string(fault.ActorUnavailable) || !strings.Contains(death.Message, fmt.Sprintf("pid: %d", st.Pid)) {
		t.Errorf("it lives: %+v", death)
	}
	_ = unix.Kill(st.Pid, unix.SIGKILL)
	d.Call(wire.TActorLost, wire.ActorLost{ActorID: id[:], Incarnation: 1}, &death)
	if death.State != wire.ActorRestarting || !strings.Contains(death.Message, "it restarts because its worker process has died") || !strings.Contains(death.Message, "SIGKILL") {
		t.Errorf("it restarts: %+v", death)
	}
	_ = unix.Kill(d.Resolve(id, 1).Pid, unix.SIGKILL)
	d.Call(wire.TActorLost, wire.ActorLost{ActorID: id[:], Incarnation: 2}, &death)
	if death.State != wire.ActorDead || death.Cause != string(fault.ActorDied) || !strings.Contains(death.Message, "restarted as often as max_restarts allows, which is 1") {
		t.Errorf("it is dead: %+v", death)
	}
	never := ids.NewActor(ids.Job(d.Job.JobID))
	d.Call(wire.TActorLost, wire.ActorLost{ActorID: never[:], Incarnation: 1}, &death)
	if death.State != wire.ActorDead || !strings.Contains(death.Message, never.String()) {
		t.Errorf("nobody knows it: %+v", death)
	}
}

func TestFlow_Environment_MayKeepDevicesVisible(t *testing.T) {
	s := play.Start(t, 2)
	d := s.Driver(nil)
	d.Class(1, play.OneCPU, "default")
	d.Push(wire.TEnvDefine, d.Environment("visible", map[string]string{"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}))
	d.Class(2, play.OneCPU, "visible")
	for id, hidden := range map[uint32]bool{1: true, 2: false} {
		d.Want(id, 1)
		h := d.Lease()
		if v, ok := h.Assignment.Env["CUDA_VISIBLE_DEVICES"]; h.ClassID != id || ok != hidden || v != "" {
			t.Errorf("class %d: devices are %q, set %v", id, v, ok)
		}
		d.Want(id, 0)
		h.GiveBack()
	}
}

// What somebody else wants is asked back from who does not use it.
func TestFlow_Lease_OthersWait_IsAskedBack(t *testing.T) {
	s := play.Start(t, 1)
	a, b := s.Driver(nil), s.Driver(nil)
	a.Class(1, play.OneCPU, "default")
	a.Want(1, 1)
	h := a.Lease()
	b.Class(1, play.OneCPU, "default")
	b.Want(1, 1)
	var ref wire.LeaseRef
	a.Expect(wire.TLeaseWanted, &ref)
	if ref.LeaseID != h.LeaseID {
		t.Errorf("lease %d is wanted, want %d", ref.LeaseID, h.LeaseID)
	}
	a.Want(1, 0)
	h.GiveBack()
	if b.Lease().Pid == h.Pid {
		t.Error("another job gets the worker")
	}
}

func TestFlow_Shutdown_OnlyOnWhoMay(t *testing.T) {
	s := play.Start(t, 1)
	d := s.Driver(nil)
	d.Class(1, play.OneCPU, "default")
	select {
	case <-s.D.Stopping():
		t.Fatal("it ends by itself")
	default:
	}
	cli := s.Tool()
	cli.Call(wire.TShutdown, nil, nil)
	<-s.D.Stopping()
}
