package system

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/wire"
)

func TestLease_WantGrantReturn_WorkerIsReused(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 2})
	d := s.start(nil)
	d.class(1, map[string]float64{"CPU": 1}, "default")
	d.want(1, 1)
	a := d.lease()
	if got := a.tell("pid"); got != strconv.Itoa(a.Pid) {
		t.Errorf("worker says pid %s, the grant %d", got, a.Pid)
	}
	if free := d.info().Available["CPU"]; free != 10000 {
		t.Errorf("free CPU %d, want 1", free)
	}
	a.giveBack()
	d.want(1, 1)
	if b := d.lease(); b.Pid != a.Pid {
		t.Errorf("pid %d, want the pooled %d", b.Pid, a.Pid)
	}
}

func TestLease_WorkerKilled_OwnerHearsHow(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 3})
	d := s.start(nil)
	d.class(1, map[string]float64{"CPU": 1}, "default")
	d.want(1, 3)
	a, b, c := d.lease(), d.lease(), d.lease()
	broken := func(h *held, want string) {
		t.Helper()
		var x wire.LeaseBroken
		d.expect(wire.TLeaseBroken, &x)
		if x.LeaseID != h.LeaseID || !strings.HasPrefix(x.Detail, want) {
			t.Errorf("lease %d: %q, want lease %d: %q", x.LeaseID, x.Detail, h.LeaseID, want)
		}
	}
	_ = unix.Kill(a.Pid, unix.SIGKILL)
	broken(a, "worker pid "+strconv.Itoa(a.Pid)+" was killed by signal 9 (SIGKILL)")
	b.tell("exit 3")
	broken(b, "worker pid "+strconv.Itoa(b.Pid)+" exited with code 3")
	c.tell("leave its task was cancelled")
	broken(c, "worker pid "+strconv.Itoa(c.Pid)+" exited with code 0 on purpose: its task was cancelled")
	eventually(t, "everything is free", func() bool { return d.info().Available["CPU"] == 30000 })
}

func TestLease_DeafWorker_IsKilled(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 1})
	d := s.start(nil)
	d.class(1, map[string]float64{"CPU": 1}, "default")
	d.want(1, 1)
	a := d.lease()
	a.tell("child")
	_ = unix.Kill(a.Pid, unix.SIGSTOP) // nothing else in the session minds
	d.info()
	_ = unix.Kill(a.Pid, unix.SIGKILL)
	var x wire.LeaseBroken
	d.expect(wire.TLeaseBroken, &x)
}

func TestLease_WorkerDies_ItsChildrenToo(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 1})
	d := s.start(nil)
	d.class(1, map[string]float64{"CPU": 1}, "default")
	d.want(1, 1)
	a := d.lease()
	text, _, _ := strings.Cut(a.tell("child"), " ")
	child, _ := strconv.Atoi(text)
	_ = unix.Kill(a.Pid, unix.SIGKILL)
	eventually(t, "the child of the dead worker is gone", func() bool { return !running(child) })
}

func TestDaemon_ParentGone_DetachedChildrenToo(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 1})
	d := s.start(nil)
	d.class(1, map[string]float64{"CPU": 1}, "default")
	d.want(1, 1)
	a := d.lease()
	text, _, _ := strings.Cut(a.tell("child setsid"), " ")
	child, _ := strconv.Atoi(text)
	s.end()
	if running(child) {
		t.Error("a child in a session of its own survived")
	}
}

func TestDaemon_Killed_WorkersAndZygotesEnd(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 1})
	d := s.start(nil)
	d.class(1, map[string]float64{"CPU": 1}, "default")
	d.want(1, 1)
	d.lease()
	_ = s.cmd.Process.Kill()
	<-s.exited
	eventually(t, "no process is left", func() bool { return len(s.processes()) == 0 })
	os.RemoveAll(s.dir) // nobody else can
}

func TestLease_Blocked_LendsItsCPU(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 1})
	d := s.start(nil)
	d.class(1, map[string]float64{"CPU": 1}, "default")
	d.want(1, 2)
	a := d.lease()
	a.tell("block")
	b := d.lease()
	a.tell("unblock")
	eventually(t, "no CPU is free", func() bool { return d.info().Available["CPU"] == 0 })
	b.giveBack()
	a.giveBack()
	eventually(t, "the CPU is free", func() bool { return d.info().Available["CPU"] == 10000 })
}

func TestLease_Infeasible_IsSaidAtOnce(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 2})
	d := s.start(nil)
	d.class(1, map[string]float64{"CPU": 1, "GPU": 1}, "default")
	d.want(1, 1)
	var x wire.ClassTrouble
	d.expect(wire.TClassInfeasible, &x)
	if x.ClassID != 1 || x.Code != "task_unschedulable" || !strings.Contains(x.Message, `task f1 needs {"CPU": 1, "GPU": 1} but the cluster has at most {"CPU": 2`) {
		t.Errorf("%+v", x)
	}
}

func TestLease_SecondDriver_GetsItsShare(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 2})
	a, b := s.start(nil), s.start(nil)
	if string(a.job.JobID) == string(b.job.JobID) {
		t.Fatal("two jobs have one id")
	}
	for _, d := range []*driver{a, b} {
		d.class(1, map[string]float64{"CPU": 1}, "default")
	}
	a.want(1, 5)
	h := map[uint64]*held{}
	for range 2 {
		l := a.lease()
		h[l.LeaseID] = l
	}
	b.want(1, 1)
	var r wire.LeaseRef
	a.expect(wire.TLeaseRecall, &r)
	h[r.LeaseID].giveBack()
	b.lease()
}

func TestLease_EnvironmentBroken_FailsWithItsWords(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 1})
	d := s.start(nil)
	d.push(wire.TEnvDefine, s.env("broken", map[string]string{"FAKE_ZYGOTE": "broken"}))
	d.push(wire.TEnvDefine, s.env("dying", map[string]string{"FAKE_WORKER": "dies"}))
	d.class(1, map[string]float64{"CPU": 1}, "broken")
	d.class(2, map[string]float64{"CPU": 1}, "dying")
	d.class(3, map[string]float64{"CPU": 1}, "default")
	d.class(4, map[string]float64{"CPU": 1}, "never defined")
	for id, words := range map[uint32]string{1: "No module named 'wrong'", 2: "no numpy here", 4: `environment "never defined" was not defined`} {
		d.want(id, 1)
		var x wire.ClassTrouble
		d.expect(wire.TClassInfeasible, &x)
		if x.ClassID != id || x.Code != "runtime_env_setup" || !strings.Contains(x.Message, words) {
			t.Errorf("class %d: %+v", id, x)
		}
	}
	d.want(3, 1)
	d.lease()
}

func TestLease_Explained(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 1})
	d := s.start(nil)
	d.class(1, map[string]float64{"CPU": 1}, "default")
	d.want(1, 2)
	d.lease()
	var why string
	d.call(wire.TWhoHolds, wire.ClassTrouble{ClassID: 1}, &why)
	if why != "it waits for CPU: asked 1, free 0 of 1 (held by 1 leased worker)" {
		t.Errorf("%q", why)
	}
}

func TestLease_GPUs_LowestFirstAndFreeAfterExit(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 4, "num_gpus": 2})
	d := s.start(nil)
	d.class(1, map[string]float64{"CPU": 1, "GPU": 1}, "default")
	d.class(2, map[string]float64{"CPU": 1}, "default")
	d.want(1, 3)
	a, b := d.lease(), d.lease()
	if a.Assignment.Devices["GPU"][0] != "0" || b.Assignment.Devices["GPU"][0] != "1" {
		t.Errorf("devices %v, %v", a.Assignment.Devices, b.Assignment.Devices)
	}
	if got := a.Assignment.Env["CUDA_VISIBLE_DEVICES"]; got != "0" {
		t.Errorf("CUDA_VISIBLE_DEVICES=%q", got)
	}
	d.push(wire.TLeaseReturn, wire.LeaseReturn{LeaseID: b.LeaseID, Exiting: true})
	if free := d.info().Available["GPU"]; free != 0 {
		t.Errorf("a GPU is free before its process has ended: %d", free)
	}
	b.tell("leave max_calls")
	c := d.lease()
	if c.Assignment.Devices["GPU"][0] != "1" || c.Pid == b.Pid {
		t.Errorf("devices %v on pid %d", c.Assignment.Devices, c.Pid)
	}
	d.want(2, 1)
	if e := d.lease(); e.Assignment.Env["CUDA_VISIBLE_DEVICES"] != "" {
		t.Errorf("a worker without GPU sees %q", e.Assignment.Env)
	} else if _, ok := e.Assignment.Env["CUDA_VISIBLE_DEVICES"]; !ok {
		t.Error("a worker without GPU sees them all")
	}
}

func TestLease_DriverGone_ItsWorkersEnd(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 2})
	a, b := s.start(nil), s.start(nil)
	a.class(1, map[string]float64{"CPU": 1}, "default")
	a.want(1, 2)
	h := a.lease()
	a.lease()
	a.close()
	eventually(t, "everything is free", func() bool { i := b.info(); return i.Available["CPU"] == 20000 && i.Jobs == 1 })
	eventually(t, "its workers are gone", func() bool { return !running(h.Pid) })
	eventually(t, "its sockets are gone", func() bool {
		left, _ := filepath.Glob(s.dir + "/p/*.sock")
		return len(left) <= 1 // the other job's prestarted worker
	})
}
