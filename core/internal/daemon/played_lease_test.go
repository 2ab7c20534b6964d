package daemon_test

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/daemon"
	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestLease_DeafWorker_IsKilled(t *testing.T) {
	s := play.Start(t, 1)
	d := s.Driver(nil)
	d.Class(1, play.OneCPU, "default")
	d.Want(1, 1)
	a := d.Lease()
	a.Tell("child")
	_ = unix.Kill(a.Pid, unix.SIGSTOP) // nothing else in the session minds
	d.Info()
	_ = unix.Kill(a.Pid, unix.SIGKILL)
	var x wire.LeaseBroken
	d.Expect(wire.TLeaseBroken, &x)
}

func TestLease_WorkerDies_ItsChildrenToo(t *testing.T) {
	s := play.Start(t, 1)
	d := s.Driver(nil)
	d.Class(1, play.OneCPU, "default")
	d.Want(1, 1)
	a := d.Lease()
	child, err := strconv.Atoi(a.Tell("child"))
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Kill(a.Pid, unix.SIGKILL)
	play.Eventually(t, "the child of the dead worker is gone", func() bool { return !play.Running(child) })
}

func TestLease_Blocked_LendsItsCPU(t *testing.T) {
	s := play.Start(t, 1)
	d := s.Driver(nil)
	d.Class(1, play.OneCPU, "default")
	d.Want(1, 2)
	a := d.Lease()
	a.Tell("block")
	b := d.Lease()
	a.Tell("unblock")
	play.Eventually(t, "no CPU is free", func() bool { return d.Info().Available["CPU"] == 0 })
	b.GiveBack()
	a.GiveBack()
	play.Eventually(t, "the CPU is free", func() bool { return d.Info().Available["CPU"] == 10000 })
}

func TestLease_Infeasible_IsSaidAtOnce(t *testing.T) {
	s := play.StartWith(t, 2, func(o *daemon.Options) { o.Devices = play.GPUs(0) })
	d := s.Driver(nil)
	d.Class(1, map[string]float64{"CPU": 1, "GPU": 1}, "default")
	d.Want(1, 1)
	var x wire.ClassTrouble
	d.Expect(wire.TClassInfeasible, &x)
	if x.ClassID != 1 || x.Code != "task_unschedulable" || !strings.Contains(x.Message, `task f1 needs {"CPU": 1, "GPU": 1} but the cluster has at most {"CPU": 2`) {
		t.Errorf("%+v", x)
	}
}

func TestLease_SecondDriver_GetsItsShare(t *testing.T) {
	s := play.Start(t, 2)
	a, b := s.Driver(nil), s.Driver(nil)
	if string(a.Job.JobID) == string(b.Job.JobID) {
		t.Fatal("two jobs have one id")
	}
	for _, d := range []*play.Driver{a, b} {
		d.Class(1, play.OneCPU, "default")
	}
	a.Want(1, 5)
	h := map[uint64]*play.Held{}
	for range 2 {
		l := a.Lease()
		h[l.LeaseID] = l
	}
	b.Want(1, 1)
	var r wire.LeaseRef
	a.Expect(wire.TLeaseRecall, &r)
	h[r.LeaseID].GiveBack()
	b.Lease()
}

func TestLease_EnvironmentBroken_FailsWithItsWords(t *testing.T) {
	s := play.Start(t, 1)
	d := s.Driver(nil)
	d.Push(wire.TEnvDefine, d.Environment("broken", map[string]string{"FAKE_ZYGOTE": "broken"}))
	d.Push(wire.TEnvDefine, d.Environment("dying", map[string]string{"FAKE_WORKER": "dies"}))
	d.Class(1, play.OneCPU, "broken")
	d.Class(2, play.OneCPU, "dying")
	d.Class(3, play.OneCPU, "default")
	d.Class(4, play.OneCPU, "never defined")
	for id, words := range map[uint32]string{1: "No module named 'wrong'", 2: "no numpy here", 4: `environment "never defined" was not defined`} {
		d.Want(id, 1)
		var x wire.ClassTrouble
		d.Expect(wire.TClassInfeasible, &x)
		if x.ClassID != id || x.Code != "runtime_env_setup" || !strings.Contains(x.Message, words) {
			t.Errorf("class %d: %+v", id, x)
		}
	}
	d.Want(3, 1)
	d.Lease()
}

func TestLease_Explained(t *testing.T) {
	s := play.Start(t, 1)
	d := s.Driver(nil)
	d.Class(1, play.OneCPU, "default")
	d.Want(1, 2)
	d.Lease()
	var why string
	d.Call(wire.TWhoHolds, wire.ClassTrouble{ClassID: 1}, &why)
	if why != "it waits for CPU: asked 1, free 0 of 1 (held by 1 leased worker)" {
		t.Errorf("%q", why)
	}
}

func TestLease_GPUs_LowestFirstAndFreeAfterExit(t *testing.T) {
	s := play.Start(t, 4)
	d := s.Driver(nil)
	d.Class(1, map[string]float64{"CPU": 1, "GPU": 1}, "default")
	d.Class(2, play.OneCPU, "default")
	d.Want(1, 3)
	a, b := d.Lease(), d.Lease()
	if a.Assignment.Devices["GPU"][0] != "0" || b.Assignment.Devices["GPU"][0] != "1" {
		t.Errorf("devices %v, %v", a.Assignment.Devices, b.Assignment.Devices)
	}
	if got := a.Assignment.Env["CUDA_VISIBLE_DEVICES"]; got != "0" {
		t.Errorf("CUDA_VISIBLE_DEVICES=%q", got)
	}
	d.Push(wire.TLeaseReturn, wire.LeaseReturn{LeaseID: b.LeaseID, Exiting: true})
	if free := d.Info().Available["GPU"]; free != 0 {
		t.Errorf("a GPU is free before its process has ended: %d", free)
	}
	b.Tell("leave max_calls")
	c := d.Lease()
	if c.Assignment.Devices["GPU"][0] != "1" || c.Pid == b.Pid {
		t.Errorf("devices %v on pid %d", c.Assignment.Devices, c.Pid)
	}
	d.Want(2, 1)
	if e := d.Lease(); e.Assignment.Env["CUDA_VISIBLE_DEVICES"] != "" {
		t.Errorf("a worker without GPU sees %q", e.Assignment.Env)
	} else if _, ok := e.Assignment.Env["CUDA_VISIBLE_DEVICES"]; !ok {
		t.Error("a worker without GPU sees them all")
	}
}

func TestLease_DriverGone_ItsWorkersEnd(t *testing.T) {
	s := play.Start(t, 2)
	a, b := s.Driver(nil), s.Driver(nil)
	a.Class(1, play.OneCPU, "default")
	a.Want(1, 2)
	h := a.Lease()
	a.Lease()
	a.Peer.Close()
	play.Eventually(t, "everything is free", func() bool { i := b.Info(); return i.Available["CPU"] == 20000 && i.Jobs == 1 })
	play.Eventually(t, "its workers are gone", func() bool { return !play.Running(h.Pid) })
	play.Eventually(t, "its sockets are gone", func() bool {
		left, _ := filepath.Glob(s.Dir + "/p/*.sock")
		return len(left) <= 1 // the other job's prestarted worker
	})
}

func TestLease_Alternatives_ChosenByTheDaemon(t *testing.T) {
	s := play.StartWith(t, 2, func(o *daemon.Options) { o.Devices = play.GPUs(1) })
	d := s.Driver(nil)
	define := func(id uint32, after int64, alternatives ...wire.Alternative) {
		d.Push(wire.TClassDefine, wire.ClassDefine{ClassID: id, Resources: play.Units(map[string]float64{"GPU": 1}), EnvKey: "default", Name: "f",
			Fallback: alternatives, AfterMs: after})
	}
	cpu := wire.Alternative{Resources: play.Units(play.OneCPU)}
	define(1, 0, cpu)
	d.Want(1, 2)
	a, b := d.Lease(), d.Lease()
	if a.Choice != 0 || a.Assignment.Env["CUDA_VISIBLE_DEVICES"] != "0" {
		t.Errorf("the first lease is choice %d with %v", a.Choice, a.Assignment)
	}
	if env, set := b.Assignment.Env["CUDA_VISIBLE_DEVICES"]; b.Choice != 1 || !b.Better || !set || env != "" || b.Assignment.Resources["CPU"] != 10000 {
		t.Errorf("the second lease is choice %d with %v", b.Choice, b.Assignment)
	}
	// The client says when a want may be served by an alternative, and until then it waits for the better one.
	define(2, 50, cpu)
	d.Want(2, 1)
	play.Eventually(t, "the better one is demand", func() bool {
		i := d.Info()
		return len(i.Demands) == 1 && i.Demands[0].Resources["GPU"] == 10000 && i.Demands[0].Count == 1
	})
	d.Push(wire.TLeaseWant, wire.LeaseWant{ClassID: 2, Want: 1, Due: 1})
	if c := d.Lease(); c.ClassID != 2 || c.Choice != 1 {
		t.Errorf("got a lease of class %d, choice %d", c.ClassID, c.Choice)
	}
	// More than may be: refused, and the connection lives on.
	define(3, 0, make([]wire.Alternative, wire.MaxAlternatives+1)...)
	define(4, -1, cpu)
	define(5, 0, wire.Alternative{Resources: map[string]int64{"CPU": -1}})
	for _, id := range []uint32{3, 4, 5} {
		d.Want(id, 1)
	}
	b.GiveBack()
	define(6, 0, cpu)
	d.Want(6, 1)
	if c := d.Lease(); c.ClassID != 6 || c.Choice != 1 {
		t.Errorf("got a lease of class %d, choice %d", c.ClassID, c.Choice)
	}
}
