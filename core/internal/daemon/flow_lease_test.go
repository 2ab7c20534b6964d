package daemon_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestFlow_Lease_GrantedReturnedAndGrantedAgain(t *testing.T) {
	s := play.Start(t, 2)
	d := s.Driver(map[string]string{"COLOUR": "blue"})
	d.Class(1, play.OneCPU, "default")
	d.Want(1, 1)
	a := d.Lease()
	if a.ClassID != 1 || a.Choice != 0 || a.Assignment.Resources["CPU"] != 10000 || a.Assignment.Env["CUDA_VISIBLE_DEVICES"] != "" {
		t.Errorf("got %+v", a.LeaseGrant)
	}
	worker := ids.Worker(a.WorkerID).Owner()
	if a.LeaseID>>32 != play.Number || worker.Node() != play.Number || a.Addr != wire.AddressOf(worker) {
		t.Errorf("lease %x of worker %s at %s; the node's number is %d", a.LeaseID, worker, a.Addr, play.Number)
	}
	if got := a.Tell("env COLOUR"); got != "blue" {
		t.Errorf("the worker's variable is %q", got)
	}
	if i := d.Info(); i.Available["CPU"] != 10000 || i.Jobs != 1 || len(i.Nodes) != 1 || i.Nodes[0].Hostname != "here" {
		t.Errorf("the cluster is %+v", i)
	}
	a.Tell("block")
	play.Eventually(t, "a worker that waits lends its CPU", func() bool { return d.Info().Available["CPU"] == 20000 })
	a.Tell("unblock")
	play.Eventually(t, "a worker that goes on has its CPU", func() bool { return d.Info().Available["CPU"] == 10000 })
	d.Want(1, 0)
	a.GiveBack()
	play.Eventually(t, "the CPU is free", func() bool { return d.Info().Available["CPU"] == 20000 })
	d.Want(1, 1)
	if b := d.Lease(); b.Pid != a.Pid || b.LeaseID == a.LeaseID {
		t.Errorf("lease %d of pid %d after lease %d of pid %d", b.LeaseID, b.Pid, a.LeaseID, a.Pid)
	}
}

func TestFlow_Lease_Devices_AreGivenAndComeBack(t *testing.T) {
	s := play.Start(t, 2)
	d := s.Driver(nil)
	d.Class(1, map[string]float64{"GPU": 1}, "default")
	d.Want(1, 2)
	a, b := d.Lease(), d.Lease()
	got := a.Assignment.Env["CUDA_VISIBLE_DEVICES"] + b.Assignment.Env["CUDA_VISIBLE_DEVICES"]
	if got != "01" && got != "10" || len(a.Assignment.Devices["GPU"]) != 1 || !a.Assignment.IntIDs {
		t.Errorf("devices %q: %+v", got, a.Assignment)
	}
	if free := d.Info().Available["GPU"]; free != 0 {
		t.Errorf("%d of a GPU is free", free)
	}
	d.Want(1, 0)
	a.GiveBack()
	play.Eventually(t, "the device is free", func() bool { return d.Info().Available["GPU"] == 10000 })
	d.Want(1, 1)
	c := d.Lease()
	if had, has := a.Assignment.Env["CUDA_VISIBLE_DEVICES"], c.Assignment.Env["CUDA_VISIBLE_DEVICES"]; has != had {
		t.Errorf("device %q is given, want %q, which came back", has, had)
	}
}

// How a worker ended is told to who had it, however it ended.
func TestFlow_WorkerEnds_ItsOwnerHearsHow(t *testing.T) {
	s := play.Start(t, 4)
	d := s.Driver(nil)
	d.Class(1, play.OneCPU, "default")
	d.Want(1, 4)
	for want, end := range map[string]func(h *play.Held){
		"was killed by signal 9 (SIGKILL)":                          func(h *play.Held) { _ = unix.Kill(h.Pid, unix.SIGKILL) },
		"ended with exit code 3":                                    func(h *play.Held) { h.Tell("exit 3") },
		"ended with exit code 0 on purpose: its task was cancelled": func(h *play.Held) { h.Tell("leave its task was cancelled") },
		"was killed by signal 15 (SIGTERM)":                         func(h *play.Held) { _ = unix.Kill(h.Pid, unix.SIGTERM) },
	} {
		h := d.Lease()
		child, err := strconv.Atoi(h.Tell("child"))
		if err != nil {
			t.Fatal(err)
		}
		h.Tell("eprint its last words are " + want + `\n`)
		d.Line("its last words are " + want)
		end(h)
		var x wire.LeaseBroken
		d.Expect(wire.TLeaseBroken, &x)
		if x.LeaseID != h.LeaseID || !strings.HasPrefix(x.Detail, fmt.Sprintf("worker pid %d %s", h.Pid, want)) {
			t.Errorf("got %+v, want %q", x, want)
		}
		if onPurpose := strings.Contains(want, "on purpose"); strings.Contains(x.Detail, "its last words are ") == onPurpose {
			t.Errorf("got %+v, want %q", x, want)
		}
		play.Eventually(t, "what it had started ends with it", func() bool { return !play.Running(child) })
	}
	d.Want(1, 0)
	play.Eventually(t, "everything is free", func() bool { return d.Info().Available["CPU"] == 40000 })
}

func TestFlow_DriverLeaves_NothingOfItsJobStays(t *testing.T) {
	s := play.Start(t, 2)
	d, other := s.Driver(nil), s.Driver(nil)
	d.Class(1, play.OneCPU, "default")
	d.Want(1, 2)
	a, b := d.Lease(), d.Lease()
	if i := other.Info(); i.Available["CPU"] != 0 || i.Jobs != 2 {
		t.Fatalf("the cluster is %+v", i)
	}
	other.Class(1, play.OneCPU, "default")
	other.Want(1, 1)
	var why string
	other.Call(wire.TWhoHolds, wire.ClassTrouble{ClassID: 1}, &why)
	if !strings.Contains(why, "CPU") {
		t.Errorf("it waits because of %q", why)
	}
	d.Peer.Close()
	if c := other.Lease(); c.Pid == a.Pid || c.Pid == b.Pid {
		t.Error("a job gets another job's worker")
	}
	play.Eventually(t, "the workers of the job have ended", func() bool { return !play.Running(a.Pid) && !play.Running(b.Pid) })
	play.Eventually(t, "one job is left", func() bool { return other.Info().Jobs == 1 })
}
