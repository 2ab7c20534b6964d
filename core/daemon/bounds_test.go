package daemon

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/gpus"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/core/sched"
	"github.com/eagleray/eagleray/core/wire"
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

// A batch ends with the line that fills it, and a driver that has just room gets one.
func TestSink_Batches_AreFilledAndNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sizes []int
		unsent := maxUnsent - 1
		s := newSink(func(ls []wire.LogLine) { sizes = append(sizes, len(ls)) }, func() int { return unsent })
		text := strings.Repeat("x", 1<<10)
		each := lineBytes(&wire.LogLine{Text: text})
		text = text[:1<<10-(each-1<<10)] // a line is 1 KiB, so 1024 of them are a batch
		s.add(slices.Repeat([]wire.LogLine{{Text: text}}, 2*maxBatchBytes>>10+1))
		s.flush(time.Minute)
		if want := []int{1024, 1024, 1}; !slices.Equal(sizes, want) {
			t.Errorf("batches of %v lines, want %v", sizes, want)
		}
		if s.bytes != 0 || s.lines != nil || s.running {
			t.Errorf("%d bytes, %d lines are left", s.bytes, len(s.lines))
		}
		s.add(nil)
		if s.running {
			t.Error("it runs for nothing")
		}
		s.close()
		s.add([]wire.LogLine{{Text: "late"}})
		if len(s.lines) != 0 {
			t.Error("a closed one takes lines")
		}
	})
}

// As much as the bound is kept, and one byte more drops the oldest line.
func TestSink_Full_DropsOneLineForOneByte(t *testing.T) {
	for _, c := range []struct{ more, dropped int }{{0, 0}, {1, 1}} {
		synctest.Test(t, func(t *testing.T) {
			var got []wire.LogLine
			unsent := maxUnsent
			s := newSink(func(ls []wire.LogLine) { got = append(got, ls...) }, func() int { return unsent })
			empty := lineBytes(&wire.LogLine{})
			half := wire.LogLine{Text: strings.Repeat("x", maxSinkBytes/2-empty)}
			s.add([]wire.LogLine{half, half})
			if c.more > 0 {
				s.mu.Lock()
				s.lines[1].Text += "y"
				s.bytes++
				s.mu.Unlock()
				s.add([]wire.LogLine{})
				half.Text = half.Text[:0]
				s.add([]wire.LogLine{half})
			}
			s.mu.Lock() // the sink asks what is unsent under it
			unsent = 0
			s.mu.Unlock()
			s.flush(time.Minute)
			s.mu.Lock()
			defer s.mu.Unlock()
			told := len(got) > 0 && strings.HasPrefix(got[0].Text, fmt.Sprintf("%d lines of output were dropped", c.dropped))
			if told != (c.dropped > 0) || s.bytes != 0 {
				t.Errorf("%d bytes more: %d lines, the first %.40q; %d bytes stay", c.more, len(got), got[0].Text, s.bytes)
			}
		})
	}
}

// A line of just the bound is one line, whether it comes at once or in parts.
func TestSplitter_LongestLine_IsNotCut(t *testing.T) {
	whole := strings.Repeat("x", maxLine)
	for _, parts := range [][]string{{whole + "\n"}, {whole, "\n"}, {whole[:10], whole[10:], "\n"}, {whole[:10], whole[10:] + "\n"}} {
		if got := split(parts...); len(got) != 1 || got[0] != whole {
			t.Errorf("%d parts give %d lines", len(parts), len(got))
		}
	}
	for _, parts := range [][]string{{whole + "y\n"}, {whole, "y\n"}, {whole[:10], whole[10:] + "y\n"}, {whole[:10], whole[10:] + "y", "\n"}} {
		if got := split(parts...); len(got) != 2 || got[0] != whole || got[1] != "y" {
			t.Errorf("%d parts give %d lines", len(parts), len(got))
		}
	}
	latest := ""
	s := splitter{latest: &latest}
	s.add(nil, []byte(strings.Repeat("x", 1<<10+1)))
	if s.add(nil, []byte("\n")); s.partial != nil {
		t.Error("the memory of a long line is kept")
	}
}

func TestNumber_AsTheKernelWrites(t *testing.T) {
	for text, want := range map[string]int{"0": 0, "7": 7, "-1": -1, "123456789012345678": 123456789012345678, "-90": -90} {
		if n, ok := number([]byte(text)); !ok || n != want {
			t.Errorf("%s gives %d, %v", text, n, ok)
		}
	}
	for _, text := range []string{"", "-", "1234567890123456789", "1a", "/", ":", "--1", "+1"} {
		if n, ok := number([]byte(text)); ok {
			t.Errorf("%q gives %d", text, n)
		}
	}
}

func TestDescendantsOf_LivingOnesOfAllGenerations(t *testing.T) {
	ps := []procStat{{pid: 2, ppid: 1}, {pid: 3, ppid: 2}, {pid: 4, ppid: 3, state: 'Z'}, {pid: 5, ppid: 4}, {pid: 6, ppid: 9}, {pid: 7, ppid: 3, state: 'X'}, {pid: 8, ppid: 3}, {pid: 1}}
	if got := descendantsOf(1, ps); !slices.Equal(got, []int{2, 3, 8}) {
		t.Errorf("got %v", got)
	}
	if got := descendantsOf(3, ps); !slices.Equal(got, []int{8}) {
		t.Errorf("got %v", got)
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

// Workers are the kernel's first choice when it has no memory left, as much as
// the environment says; what a child has inherited of the daemon's protection goes.
func TestScores_WorkersFirst(t *testing.T) {
	score := func(pid int) string {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(b))
	}
	t.Setenv("EAGLERAY_worker_oom_score_adjustment", "")
	t.Setenv("RAY_worker_oom_score_adjustment", "")
	for _, c := range []struct{ ours, rays, want string }{{"", "", "1000"}, {"", "800", "800"}, {"900", "800", "900"}} {
		t.Setenv("EAGLERAY_worker_oom_score_adjustment", c.ours)
		t.Setenv("RAY_worker_oom_score_adjustment", c.rays)
		pid := sleeper(t)
		if offer(pid); score(pid) != c.want {
			t.Errorf("with %q and %q a worker has %s, want %s", c.ours, c.rays, score(pid), c.want)
		}
	}
	was := before
	defer func() { before = was }()
	pid := sleeper(t)
	at := score(pid)
	before = ""
	if unspare(pid); score(pid) != at {
		t.Errorf("an unprotected daemon's child has %s, not %s", score(pid), at)
	}
	before = "950"
	if unspare(pid); score(pid) != "950" {
		t.Errorf("a protected daemon's child has %s, want what the daemon had", score(pid))
	}
	if got := readScore(); got != score(os.Getpid()) {
		t.Errorf("this process has %q", got)
	}
}

// What workers hold of GPUs is summed by process and device. Who must not have
// more than it asked for is ended with one byte more.
func TestGPUWatch_Account_EndsWhoExceedsItsShare(t *testing.T) {
	d, j := opened(t)
	last := sched.WorkerID(10)
	add := func(share int64, enforce bool) *worker {
		pid := sleeper(t)
		p, err := watchPid(pid, func(*process) {})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.release)
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

// Variables that only the zygote may set, that exec cannot pass and that are too
// large for it are left out; those of the specification win.
func TestMergedEnv_WhatExecTakes(t *testing.T) {
	large := strings.Repeat("x", maxExecVar)
	got := mergedEnv(&wire.EnvSpec{
		JobEnv: map[string]string{"A": "job", "B": "job", jobVar: "x", sessionVar: "x", "bad=name": "x", "": "x", "NUL": "a\x00", "LARGE": large},
		Env:    map[string]string{"B": "spec", "C": large[1:], "D": large, jobVar: "x", sessionVar: "x", "N\x00": "x"},
	})
	want := []string{"A=job", "B=spec", "C=" + large[1:], "LARGE=" + large}
	if !slices.Equal(got, want) {
		t.Errorf("got %.30q, want %.30q", got, want)
	}
	for name, ok := range map[string]bool{"A": true, "": false, "A=": false, "\x00": false} {
		if validVar(name, "v") != ok {
			t.Errorf("%q", name)
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
