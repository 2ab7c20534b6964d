package pressure

import (
	"errors"
	"log/slog"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"fmt"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/gpus"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// rack plays the GPUs of a node and its workers to the GPU watch. The processes have ids
// that no process of the machine can have.
type rack struct {
	*GPUWatch
	t        *testing.T
	lock     sync.Mutex // the daemon's
	pids     map[int]uint64
	ended    map[uint64]Ending
	excused  map[uint64]bool // workers that are being ended for another reason
	openErr  error
	opened   int
	complain int
	log      strings.Builder
	stop     chan struct{}

	mu      sync.Mutex
	uses    []gpus.Use
	useErr  error
	looks   int
	probes  int
	probe   func() (bool, error)
	hostIDs bool
}

const beyond = 1 << 23 // more than the largest process id

func newRack(t *testing.T) *rack {
	r := &rack{t: t, pids: make(map[int]uint64), ended: make(map[uint64]Ending), excused: make(map[uint64]bool), stop: make(chan struct{})}
	r.GPUWatch = NewGPUWatch(GPUConfig{
		Open: func() (GPUs, error) {
			r.opened++
			return r, r.openErr
		},
		Workers: r, Lock: &r.lock, Log: slog.New(slog.NewTextHandler(&r.log, nil)), Complain: func(string, error) { r.complain++ }, Stop: r.stop,
	})
	return r
}

func (r *rack) Devices() []gpus.Device {
	return []gpus.Device{{Index: 0, UUID: "GPU-0abc"}, {Index: 1, UUID: "GPU-1abc"}}
}

func (r *rack) Uses() ([]gpus.Use, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looks++
	return r.uses, r.useErr
}

func (r *rack) Probe() (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.probes++
	return r.probe()
}

func (r *rack) HostIDs() bool { return r.hostIDs }

func (r *rack) WorkerOf(pid int) (uint64, bool) {
	id, ok := r.pids[pid]
	return id, ok
}

func (r *rack) EndNow(id uint64, why Ending) bool {
	if r.excused[id] {
		return false
	}
	if _, twice := r.ended[id]; twice {
		r.t.Errorf("worker %d is ended twice", id)
	}
	r.ended[id] = why
	return true
}

// give starts work on a worker that asks for device GPU-1, or for no device when share is
// negative. It returns the worker's process.
func (r *rack) give(id uint64, share int64, actor, enforce bool) (pid int) {
	r.t.Helper()
	l, err := resource.NewLedger(resource.Set{}, map[string][]string{resource.GPU: {"GPU-1"}})
	if err != nil {
		r.t.Fatal(err)
	}
	if err := l.SetGPUMemory(map[string]int64{"GPU-1": 1 << 40}); err != nil {
		r.t.Fatal(err)
	}
	need := resource.Set{}
	switch {
	case share > 0:
		need[resource.GPUMemory] = resource.FromInt(share)
	case share == 0:
		need[resource.GPU] = resource.Unit
	}
	a, ok := l.Acquire(need)
	if !ok {
		r.t.Fatalf("%v cannot be had", need)
	}
	pid = beyond + int(id)
	r.lock.Lock()
	defer r.lock.Unlock()
	r.pids[pid] = id
	r.Assign(Given{Worker: id, Pid: pid, Actor: actor, Name: "f", Hold: a, Enforce: enforce})
	return pid
}

// What workers hold of GPUs is summed by process and device. A worker that must not have
// more than it asked for is ended with one byte more.
func TestGPUWatch_Account_EndsWorkersThatExceedTheirShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRack(t)
		defer close(r.stop)
		if every, held := r.account(nil); held || every != gpuLook {
			t.Errorf("without workers: %v, %v", every, held)
		}
		free, fits, over, actor := r.give(1, 100, false, false), r.give(2, 100, false, true), r.give(3, 100, false, true), r.give(4, 100, true, true)
		whole, none := r.give(5, 0, false, true), r.give(6, -1, false, true)
		synctest.Wait()
		r.lock.Lock()
		defer r.lock.Unlock()
		every, held := r.account([]gpus.Use{
			{Pid: free, Device: 1, Bytes: 500}, {Pid: fits, Device: 1, Bytes: 60}, {Pid: fits, Device: 1, Bytes: 40},
			{Pid: over, Device: 0, Bytes: 50}, {Pid: over, Device: 1, Bytes: 101}, {Pid: actor, Device: 0, Bytes: 101},
			{Pid: whole, Device: 1, Bytes: 1 << 30}, {Pid: none, Device: 1, Bytes: 7}, {Pid: beyond + 99, Device: 1, Bytes: 999},
		})
		if !held || every != gpuEnforceLook || !r.proven {
			t.Errorf("%v, %v, proven %v", every, held, r.proven)
		}
		if len(r.ended) != 2 {
			t.Errorf("ended %v, want the task and the actor that exceed their share", r.ended)
		}
		for id, words := range map[uint64][]string{3: {"task f held", "(101 bytes) of GPU GPU-1,", fmt.Sprintf("pid %d,", over)}, 4: {"actor f held", "of GPU 0,"}} {
			for _, w := range words {
				if why := r.ended[id]; why.Code != fault.GPUMemoryExceeded || !strings.Contains(why.Text, w) {
					t.Errorf("worker %d: %+v does not say %q", id, why, w)
				}
			}
		}
		want := []wire.GPUUse{
			{Pid: free, Name: "f", Device: "GPU-1", Bytes: 500, Share: 100}, {Pid: fits, Name: "f", Device: "GPU-1", Bytes: 100, Share: 100},
			{Pid: over, Name: "f", Device: "0", Bytes: 50, Share: 100}, {Pid: over, Name: "f", Device: "GPU-1", Bytes: 101, Share: 100},
			{Pid: actor, Name: "f", Device: "0", Bytes: 101, Share: 100},
			{Pid: whole, Name: "f", Device: "GPU-1", Bytes: 1 << 30}, {Pid: none, Name: "f", Device: "1", Bytes: 7},
		}
		if got := r.GPUWatch.Uses(); !slices.Equal(got, want) {
			t.Errorf("uses\n%+v, want\n%+v", got, want)
		}
		if every, held := r.account(nil); !held || every != gpuEnforceLook || len(r.GPUWatch.Uses()) != 0 {
			t.Errorf("nothing is held: %v, %v, %v", every, held, r.GPUWatch.Uses())
		}
		for id := range uint64(4) {
			if r.Forget(id + 1); id == 1 { // the worker that fits was held to its share
				if every, _ := r.account(nil); every != gpuLook {
					t.Errorf("nobody is held to a share, and the next look is after %v", every)
				}
			}
		}
		if r.Forget(5); len(r.holds) != 1 {
			t.Errorf("%d workers are remembered, want 1", len(r.holds))
		}
		if _, held := r.account(nil); held {
			t.Error("a worker without a GPU has one")
		}
	})
}

// The next work of a worker has its own name and share, and a worker that is being ended
// for its memory is not ended again.
func TestGPUWatch_Account_NextWorkOfAWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRack(t)
		defer close(r.stop)
		pid := r.give(1, 100, false, true)
		r.give(1, 300, false, true)
		r.excused[2] = true
		other := r.give(2, 100, false, true)
		synctest.Wait()
		r.lock.Lock()
		defer r.lock.Unlock()
		look := func(bytes int64) {
			r.account([]gpus.Use{{Pid: pid, Device: 1, Bytes: bytes}, {Pid: other, Device: 1, Bytes: bytes}})
		}
		if look(300); len(r.ended) != 0 {
			t.Errorf("ended %v, though the new share is not exceeded", r.ended)
		}
		for range 2 {
			if look(301); len(r.ended) != 1 {
				t.Errorf("ended %v, want one worker once", r.ended)
			}
		}
	})
}

// The watch looks once a second while a worker has a GPU, more often while a share is
// enforced, at once when such work comes, and not at all when nobody has a GPU.
func TestGPUWatch_Run_LooksWhileAWorkerHasAGPU(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRack(t)
		looks := func(d time.Duration) int {
			t.Helper()
			synctest.Wait()
			r.mu.Lock()
			before := r.looks
			r.mu.Unlock()
			time.Sleep(d)
			synctest.Wait()
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.looks - before
		}
		r.give(1, -1, false, true)
		if n := looks(time.Hour); n != 0 || r.opened != 0 {
			t.Errorf("%d looks though nobody has a GPU", n)
		}
		r.give(1, 0, false, false)
		if r.log.Len() != 0 {
			t.Errorf("the log of GPUs that are watched: %s", r.log.String())
		}
		if n := looks(10*time.Second + 1); n != 10 {
			t.Errorf("%d looks in ten seconds, want 10", n)
		}
		before := time.Now()
		r.mu.Lock()
		r.uses = []gpus.Use{{Pid: beyond + 2, Device: 1, Bytes: 101}} // before the watch looks, which it does at once
		r.mu.Unlock()
		r.give(2, 100, false, true)
		synctest.Wait()
		if len(r.ended) != 1 || time.Since(before) != 0 {
			t.Errorf("after %v %d workers are ended", time.Since(before), len(r.ended))
		}
		r.give(3, 100, false, true)
		if n := looks(time.Second + 1); n != 20 {
			t.Errorf("%d looks in a second while a share is enforced, want 20", n)
		}
		r.mu.Lock()
		r.useErr = errors.New("the helper has ended")
		r.mu.Unlock()
		if n := looks(100*time.Millisecond + 1); n != r.complain || n != 2 {
			t.Errorf("%d looks failed, %d complaints", n, r.complain)
		}
		r.lock.Lock()
		for id := range uint64(3) {
			r.Forget(id + 1)
		}
		r.lock.Unlock()
		if looks(time.Second); r.running {
			t.Error("the watch looks, though nobody has a GPU any more")
		}
		r.give(4, 0, false, false)
		if n := looks(5 * time.Second); n == 0 || r.opened != 1 {
			t.Errorf("%d looks at the next worker's GPU; the figures were opened %d times", n, r.opened)
		}
		r.lock.Lock()
		r.Close()
		r.lock.Unlock()
		if looks(time.Second); r.running {
			t.Error("a closed watch looks")
		}
		r.give(5, 0, false, false)
		if n := looks(time.Second); n != 0 {
			t.Error("a closed watch begins to look")
		}
	})
}

// Nobody tries again to open what could not be opened.
func TestGPUWatch_CannotBeOpened_SaysSoOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRack(t)
		r.openErr = errors.New("no driver")
		r.give(1, 0, false, true)
		synctest.Wait()
		r.give(2, 0, false, true)
		synctest.Wait()
		if why := r.Unenforceable(); why != "no driver" || r.opened != 1 || r.looks != 0 {
			t.Errorf("%q after %d tries", why, r.opened)
		}
		if n := strings.Count(r.log.String(), "the memory of GPUs is not watched"); n != 1 {
			t.Errorf("the log says %d times that nothing is watched", n)
		}
		if n := r.Held(1); n != Unwatched {
			t.Errorf("worker 1 holds %d", n)
		}
	})
}

// A worker asks what it holds: the sum over the devices, once it is known that the
// driver's process ids are ours.
func TestGPUWatch_Held(t *testing.T) {
	r := newRack(t)
	r.pids[beyond+1], r.pids[beyond+2] = 1, 2
	r.uses = []gpus.Use{{Pid: 1, Device: 0, Bytes: 9}}
	if n := r.Held(1); n != Unknown {
		t.Errorf("%d bytes, though no process of ours is listed", n)
	}
	r.uses = append(r.uses, gpus.Use{Pid: beyond + 1, Device: 0, Bytes: 5}, gpus.Use{Pid: beyond + 1, Device: 1, Bytes: 6}, gpus.Use{Pid: beyond + 2, Device: 1, Bytes: 70})
	if n := r.Held(1); n != 11 {
		t.Errorf("%d bytes, want 11", n)
	}
	if n := r.Held(3); n != 0 {
		t.Errorf("a worker that holds nothing has %d bytes", n)
	}
	r.useErr = errors.New("no answer")
	if n := r.Held(1); n != Unknown {
		t.Errorf("%d bytes without an answer", n)
	}
}

// Shares can be enforced where the driver's process ids are ours.
func TestGPUWatch_Unenforceable(t *testing.T) {
	probe := func(listed bool, err error) func() (bool, error) {
		return func() (bool, error) { return listed, err }
	}
	for name, c := range map[string]struct {
		set   func(r *rack)
		words string // "": it can be enforced
		again int    // probes after a second question
	}{
		"a worker was listed":                            {func(r *rack) { r.proven = true }, "", 0},
		"the probe is listed":                            {func(r *rack) { r.probe = probe(true, nil) }, "", 1},
		"the probe is not listed":                        {func(r *rack) { r.probe = probe(false, nil) }, "NVML does not list this node's processes under their ids", 1},
		"no probe, on the host":                          {func(r *rack) { r.probe, r.hostIDs = probe(false, errors.New("it ended")), true }, "", 1},
		"no probe, in a container":                       {func(r *rack) { r.probe = probe(false, errors.New("it ended")) }, "a probe could not open a GPU: it ended", 1},
		"the driver does not answer; it may do so later": {func(r *rack) { r.useErr = errors.New("no answer") }, "no answer", 0},
	} {
		r := newRack(t)
		c.set(r)
		for range 2 {
			if why := r.Unenforceable(); (why == "") != (c.words == "") || !strings.Contains(why, c.words) {
				t.Errorf("%s: %q, want %q", name, why, c.words)
			}
		}
		if r.probes != c.again {
			t.Errorf("%s: %d probes, want %d", name, r.probes, c.again)
		}
	}
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
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	if err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, child
}

// Processes that a worker has started in its session count for that worker.
func TestGPUWatch_WorkerOf_SessionCounts(t *testing.T) {
	r := newRack(t)
	leader, pid := sessionOfTwo(t)
	if _, _, ok := r.workerOf(pid); ok {
		t.Error("a process that belongs to no worker has one")
	}
	r.pids[leader] = 7
	if id, main, ok := r.workerOf(pid); !ok || id != 7 || main != leader {
		t.Errorf("a process of the worker's session: worker %d, pid %d, %v", id, main, ok)
	}
	r.pids[pid] = 8
	if id, main, ok := r.workerOf(pid); !ok || id != 8 || main != pid {
		t.Errorf("a worker's own process: worker %d, pid %d, %v", id, main, ok)
	}
	if _, _, ok := r.workerOf(1 << 30); ok {
		t.Error("a process that does not exist has a worker")
	}
}
