package daemon

import (
	"fmt"
	"log/slog"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/gpus"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/core/sched"
	"github.com/eagleray/eagleray/core/wire"
	"github.com/eagleray/eagleray/core/workers"
)

func TestOptions_Check_BoundsAndDefaults(t *testing.T) {
	longest := strings.Repeat("x", maxSocketPath-len("/p/.sock")-2*ids.OwnerSize)
	for _, c := range []struct {
		name  string
		o     Options
		words string // "": it is accepted
	}{
		{"no folder", Options{ArenaBytes: minArena}, "not given"},
		{"the longest folder", Options{SessionDir: longest, ArenaBytes: minArena}, ""},
		{"a folder that is too long", Options{SessionDir: longest + "x", ArenaBytes: minArena}, "108 bytes, the system allows 107"},
		{"the smallest store", Options{SessionDir: "/s", ArenaBytes: minArena}, ""},
		{"a store that is too small", Options{SessionDir: "/s", ArenaBytes: minArena - 1}, "object_store_memory is 78643199 bytes"},
	} {
		err := c.o.Check()
		if (err == nil) != (c.words == "") || err != nil && !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.words)
		}
	}
	log := slog.New(slog.DiscardHandler)
	for want, o := range map[int]Options{1: {}, 2: {CPUs: 2, Log: log}} {
		o.SessionDir, o.ArenaBytes = "/s", minArena+5000
		if err := o.Check(); err != nil || o.CPUs != want || o.ArenaBytes != minArena+4096 || o.Log == nil || want == 2 && o.Log != log {
			t.Errorf("%+v, %v", o, err)
		}
	}
}

// sleeper starts a process that the test ends.
func sleeper(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

// sessionOfTwo starts a process that leads a session of its own and a child of
// it in that session. A test's own session may belong to a process that a
// container does not show, whose number reads as 0.
func sessionOfTwo(t *testing.T) (leader, child int) {
	t.Helper()
	cmd := exec.Command("sh", "-c", "sleep 600 & echo $!; wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fscan(out, &child)
	t.Cleanup(func() {
		if child > 0 {
			_ = syscall.Kill(child, syscall.SIGKILL) // its parent reaps it, and ends
		} else {
			_ = cmd.Process.Kill()
		}
		_ = cmd.Wait()
	})
	if err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, child
}

// What workers hold of GPUs is summed by process and device. Who must not have
// more than it asked for is ended with one byte more.
func TestGPUWatch_Account_EndsWhoExceedsItsShare(t *testing.T) {
	d, j := opened(t)
	last := sched.WorkerID(10)
	add := func(share int64, enforce bool) *worker {
		pid := sleeper(t)
		p, err := workers.Watch(pid, func(*workers.Process) {})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Release)
		d.mu.Lock()
		defer d.mu.Unlock()
		last++
		w := &worker{id: last, self: ids.NewWorker(), job: j, pid: pid, proc: p}
		d.workers[w.id], d.pids[pid] = w, w
		w.gpu = gpuHold{name: "f", devices: []string{"GPU-1"}, share: share, enforce: enforce}
		return w
	}
	d.gpus.open.Do(func() {
		d.gpus.lib = &gpus.Watcher{Devices: []gpus.Device{{Index: 0, UUID: "GPU-0abc"}, {Index: 1, UUID: "GPU-1abc"}}}
	})
	d.mu.Lock()
	if every, any := d.account(nil); any || every != gpuLook {
		t.Errorf("without workers: %v, %v", every, any)
	}
	d.mu.Unlock()
	free, fits, over := add(100, false), add(100, true), add(100, true)
	d.mu.Lock()
	defer func() { // the daemon ends without them; its reaper may be looking, for one of them is killed
		clear(d.workers)
		clear(d.pids)
		d.mu.Unlock()
	}()
	every, any := d.account([]gpus.Use{
		{Pid: free.pid, Device: 1, Bytes: 500}, {Pid: fits.pid, Device: 1, Bytes: 60}, {Pid: fits.pid, Device: 1, Bytes: 40},
		{Pid: over.pid, Device: 0, Bytes: 50}, {Pid: over.pid, Device: 1, Bytes: 101}, {Pid: 1, Device: 1, Bytes: 999},
	})
	if !any || every != gpuEnforceLook || !d.gpus.proven {
		t.Errorf("%v, %v, proven %v", every, any, d.gpus.proven)
	}
	if free.exceeded != "" || fits.exceeded != "" || fits.doomed {
		t.Errorf("ended without a reason: %q, %q", free.exceeded, fits.exceeded)
	}
	if over.excess != fault.GPUMemoryExceeded || !over.doomed || !strings.Contains(over.exceeded, "task f held") || !strings.Contains(over.exceeded, "(101 bytes) of GPU GPU-1,") {
		t.Errorf("%s: %q", over.excess, over.exceeded)
	}
	if want := map[int]int64{1: 100}; !reflect.DeepEqual(fits.gpu.used, want) {
		t.Errorf("used is %v, want %v", fits.gpu.used, want)
	}
	uses := d.gpuUses()
	if len(uses) != 4 || !slices.IsSortedFunc(uses, func(a, b wire.GPUUse) int { return a.Pid - b.Pid }) {
		t.Errorf("uses %+v", uses)
	}
	for _, u := range uses {
		if u.Pid == over.pid && u.Device != "GPU-1" && u.Device != "0" || u.Share != 100 || u.Name != "f" {
			t.Errorf("use %+v", u)
		}
	}
	if every, any := d.account(nil); !any || every != gpuEnforceLook || over.gpu.used != nil {
		t.Errorf("nothing is held: %v, %v, %v", every, any, over.gpu.used)
	}
	fits.gpu.enforce = false
	if every, any := d.account(nil); !any || every != gpuLook {
		t.Errorf("nobody is held to a share: %v, %v", every, any)
	}
	over.actor = &actor{rec: record.Actor{ClassName: "A"}}
	d.exceeds(over, 0, 7)
	if !strings.Contains(over.exceeded, "actor f held") || !strings.Contains(over.exceeded, "of GPU 0,") {
		t.Errorf("an actor: %q", over.exceeded)
	}
}

// Processes that a worker has started in its session are its own, others are nobody's.
func TestGPUWatch_OfPid_SessionCounts(t *testing.T) {
	d := &Daemon{pids: map[int]*worker{}}
	w := &worker{}
	leader, pid := sessionOfTwo(t)
	if d.ofPid(pid) != nil {
		t.Error("a process of nobody has a worker")
	}
	d.pids[pid] = w
	if d.ofPid(pid) != w {
		t.Error("a worker's own process is not its own")
	}
	delete(d.pids, pid)
	d.pids[leader] = w
	if d.ofPid(pid) != w {
		t.Error("a process of a worker's session is not its own")
	}
	if d.ofPid(1<<30) != nil {
		t.Error("a process that is not there has a worker")
	}
}

func TestRest_LongerEachTimeUntilTheMost(t *testing.T) {
	for falls, want := range map[int]time.Duration{0: 0, 1: 0, 2: firstRest, 3: 2 * firstRest, 4: 4 * firstRest, 9: 128 * firstRest, 10: maxRest, 60: maxRest, 1 << 40: maxRest} {
		if got := rest(falls); got != want {
			t.Errorf("%d falls: %v, want %v", falls, got, want)
		}
	}
}

// What is said of an actor's end names its reason, and the detail when there is one.
func TestWhy_EachReasonInWords(t *testing.T) {
	for r, words := range map[record.Reason]string{
		record.Killed: "`ray.kill`", record.Released: "all references", record.WorkerDied: "worker process has died: d", record.Exited: "on purpose: d",
		record.OwnerDied: "owner has died: d", record.JobEnded: "its job has ended: d", record.StartFailed: "could not be started: d", record.EnvFailed: "runtime environment could not be made: d",
		record.OutOfMemory: "ran out of memory: d", record.GPUMemory: "GPU's memory than it had asked for: d", record.NodeDied: "its node has died: d", "else": "else: d",
	} {
		if got := why(r, "d."); !strings.Contains(got, words) {
			t.Errorf("%s: %q", r, got)
		}
		if got := why(r, ""); strings.Contains(got, ":") {
			t.Errorf("%s without a detail: %q", r, got)
		}
		comes := r == record.WorkerDied || r == record.NodeDied || r == record.OutOfMemory || r == record.GPUMemory || r == record.Killed
		if restartable(r) != comes {
			t.Errorf("%s: restartable is %v", r, !comes)
		}
	}
	if reasonOf(fault.OutOfMemory) != record.OutOfMemory || reasonOf(fault.GPUMemoryExceeded) != record.GPUMemory {
		t.Error("an excess has another's reason")
	}
}
