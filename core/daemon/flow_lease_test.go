package daemon_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/wire"
)

var oneCPU = map[string]float64{"CPU": 1}

func TestFlow_Lease_GrantedReturnedAndGrantedAgain(t *testing.T) {
	s := start(t, 2)
	d := s.driver(map[string]string{"COLOUR": "blue"})
	d.class(1, oneCPU, "default")
	d.want(1, 1)
	a := d.lease()
	if a.ClassID != 1 || a.Choice != 0 || a.Assignment.Resources["CPU"] != 10000 || a.Assignment.Env["CUDA_VISIBLE_DEVICES"] != "" {
		t.Errorf("got %+v", a.LeaseGrant)
	}
	if got := a.tell("env COLOUR"); got != "blue" {
		t.Errorf("the worker's variable is %q", got)
	}
	if i := d.info(); i.Available["CPU"] != 10000 || i.Jobs != 1 || len(i.Nodes) != 1 || i.Nodes[0].Hostname != "here" {
		t.Errorf("the cluster is %+v", i)
	}
	a.tell("block")
	eventually(t, "a worker that waits lends its CPU", func() bool { return d.info().Available["CPU"] == 20000 })
	a.tell("unblock")
	eventually(t, "a worker that goes on has its CPU", func() bool { return d.info().Available["CPU"] == 10000 })
	d.want(1, 0)
	a.giveBack()
	eventually(t, "the CPU is free", func() bool { return d.info().Available["CPU"] == 20000 })
	d.want(1, 1)
	if b := d.lease(); b.Pid != a.Pid || b.LeaseID == a.LeaseID {
		t.Errorf("lease %d of pid %d after lease %d of pid %d", b.LeaseID, b.Pid, a.LeaseID, a.Pid)
	}
}

func TestFlow_Lease_Devices_AreGivenAndComeBackWithTheProcess(t *testing.T) {
	s := start(t, 2)
	d := s.driver(nil)
	d.class(1, map[string]float64{"GPU": 1}, "default")
	d.want(1, 2)
	a, b := d.lease(), d.lease()
	got := a.Assignment.Env["CUDA_VISIBLE_DEVICES"] + b.Assignment.Env["CUDA_VISIBLE_DEVICES"]
	if got != "01" && got != "10" || len(a.Assignment.Devices["GPU"]) != 1 || !a.Assignment.IntIDs {
		t.Errorf("devices %q: %+v", got, a.Assignment)
	}
	if free := d.info().Available["GPU"]; free != 0 {
		t.Errorf("%d of a GPU is free", free)
	}
	d.want(1, 0)
	a.giveBack()
	eventually(t, "the process that used the device has ended", func() bool { return !running(a.Pid) })
	eventually(t, "the device is free", func() bool { return d.info().Available["GPU"] == 10000 })
}

// How a worker ended is told to who had it, however it ended.
func TestFlow_WorkerEnds_ItsOwnerHearsHow(t *testing.T) {
	s := start(t, 4)
	d := s.driver(nil)
	d.class(1, oneCPU, "default")
	d.want(1, 4)
	for want, end := range map[string]func(h *held){
		"was killed by signal 9 (SIGKILL)":                      func(h *held) { _ = unix.Kill(h.Pid, unix.SIGKILL) },
		"exited with code 3":                                    func(h *held) { h.tell("exit 3") },
		"exited with code 0 on purpose: its task was cancelled": func(h *held) { h.tell("leave its task was cancelled") },
		"was killed by signal 15 (SIGTERM)":                     func(h *held) { _ = unix.Kill(h.Pid, unix.SIGTERM) },
	} {
		h := d.lease()
		child, err := strconv.Atoi(h.tell("child"))
		if err != nil {
			t.Fatal(err)
		}
		h.tell("eprint its last words are " + want)
		d.line("its last words are " + want)
		end(h)
		var x wire.LeaseBroken
		d.expect(wire.TLeaseBroken, &x)
		if x.LeaseID != h.LeaseID || !strings.HasPrefix(x.Detail, fmt.Sprintf("worker pid %d %s", h.Pid, want)) {
			t.Errorf("got %+v, want %q", x, want)
		}
		if onPurpose := strings.Contains(want, "on purpose"); strings.Contains(x.Detail, "its last words are ") == onPurpose {
			t.Errorf("got %+v, want %q", x, want)
		}
		eventually(t, "what it had started ends with it", func() bool { return !running(child) })
	}
	d.want(1, 0)
	eventually(t, "everything is free", func() bool { return d.info().Available["CPU"] == 40000 })
}

func TestFlow_DriverLeaves_NothingOfItsJobStays(t *testing.T) {
	s := start(t, 2)
	d, other := s.driver(nil), s.driver(nil)
	d.class(1, oneCPU, "default")
	d.want(1, 2)
	a, b := d.lease(), d.lease()
	if i := other.info(); i.Available["CPU"] != 0 || i.Jobs != 2 {
		t.Fatalf("the cluster is %+v", i)
	}
	other.class(1, oneCPU, "default")
	other.want(1, 1)
	var why string
	other.call(wire.TWhoHolds, wire.ClassTrouble{ClassID: 1}, &why)
	if !strings.Contains(why, "CPU") {
		t.Errorf("it waits because of %q", why)
	}
	d.peer.Close()
	if c := other.lease(); c.Pid == a.Pid || c.Pid == b.Pid {
		t.Error("a job gets another job's worker")
	}
	eventually(t, "the workers of the job have ended", func() bool { return !running(a.Pid) && !running(b.Pid) })
	eventually(t, "one job is left", func() bool { return other.info().Jobs == 1 })
}

// What a worker writes is told to the driver with the worker's process id, and kept in files.
func TestFlow_Output_IsToldByProcess(t *testing.T) {
	s := start(t, 1)
	d := s.driver(nil)
	d.class(1, oneCPU, "default")
	d.want(1, 1)
	a := d.lease()
	a.tell("print hello")
	a.tell("eprint trouble")
	if l := d.line("hello"); l.Pid != a.Pid || l.Stderr {
		t.Errorf("got %+v", l)
	}
	if l := d.line("trouble"); l.Pid != a.Pid || !l.Stderr {
		t.Errorf("got %+v", l)
	}
}

func TestFlow_Environments_AreBroken_TheReasonIsTold(t *testing.T) {
	s := start(t, 1)
	d := s.driver(nil)
	for i, c := range []struct{ key, variable, value, want string }{
		{"no module", "FAKE_ZYGOTE", "broken", "No module named 'wrong'"},
		{"no worker", "FAKE_WORKER", "dies", "ImportError: no numpy here"},
	} {
		id := uint32(i + 2)
		d.push(wire.TEnvDefine, environment(c.key, map[string]string{c.variable: c.value}))
		d.class(id, oneCPU, c.key)
		d.want(id, 1)
		var x wire.ClassTrouble
		d.expect(wire.TClassInfeasible, &x)
		if x.ClassID != id || x.Code != "runtime_env_setup" || !strings.Contains(x.Message, c.want) {
			t.Errorf("%s: got %+v", c.key, x)
		}
	}
	d.class(1, oneCPU, "default")
	d.want(1, 1)
	if d.lease().Pid == 0 {
		t.Error("another environment has no worker")
	}
}

func TestFlow_Infeasible_IsToldAtOnce(t *testing.T) {
	s := start(t, 1)
	d := s.driver(nil)
	d.class(7, map[string]float64{"CPU": 3}, "default")
	d.want(7, 1)
	var x wire.ClassTrouble
	d.expect(wire.TClassInfeasible, &x)
	if x.ClassID != 7 || !strings.Contains(x.Message, "CPU") {
		t.Errorf("got %+v", x)
	}
}
