package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/pressure"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/core/workers"
)

// A worker that was idle in the picture has become an actor's before it is ended.
func TestWatchHost_End_IdleInThePictureAndAnActorByNow_Lives(t *testing.T) {
	d, j := opened(t)
	w, _ := ordered(d, j)
	d.mu.Lock()
	ended := sleeps(t, d, w)
	idle := pressure.Worker{ID: uint64(w.id), Pid: w.pid, Work: d.workOf(w, nil)}
	w.actor = &actor{rec: record.Actor{ID: ids.NewActor(j.id)}}
	d.mu.Unlock()
	why := pressure.Ending{Code: fault.OutOfMemory, Text: "memory is short", Bytes: 9}
	for _, exact := range []bool{true, false} {
		if gone, is := (watchHost{d}).End(idle, exact, why); is || gone != nil {
			t.Errorf("exact %v: the actor is ended", exact)
		}
	}
	d.mu.Lock()
	if w.doomed || w.exceeded != "" {
		t.Error("the actor is ended")
	}
	now := idle
	now.Work = d.workOf(w, nil)
	d.mu.Unlock()
	gone, is := watchHost{d}.End(now, true, why)
	if !is || gone == nil {
		t.Error("the worker is not ended, though it does what the picture shows")
	}
	ended()
	d.mu.Lock()
	defer d.mu.Unlock()
	if w.exceeded != why.Text || w.excess != why.Code || w.held != why.Bytes {
		t.Errorf("the worker's end is told as %q, %q, %d bytes", w.exceeded, w.excess, w.held)
	}
	w.actor = nil
}

// A worker that is gone has ended already, whatever it did when it was chosen.
func TestWatchHost_End_WorkerIsGone_HasEnded(t *testing.T) {
	d, _ := opened(t)
	gone, is := watchHost{d}.End(pressure.Worker{ID: 1000, Work: pressure.Work{Idle: true}}, true, pressure.Ending{Text: "memory is short"})
	if !is {
		t.Fatal("a worker that is gone has not ended")
	}
	<-gone
}

// Workers that the scheduler does not know, that come up, that are being ended or that have no process
// are not shown to the memory watch.
func TestWatchHost_List_OnlyWorkersThatMayBeEnded(t *testing.T) {
	d, j := opened(t)
	w, _ := ordered(d, j)
	list := func() int { return len(watchHost{d}.List()) }
	for name, change := range map[string]func(){
		"a worker that comes up":                    func() { w.state, w.doomed, w.proc = stateStarting, false, &workers.Process{} },
		"a worker that is being ended":              func() { w.state, w.doomed, w.proc = stateReady, true, &workers.Process{} },
		"a worker without a process":                func() { w.state, w.doomed, w.proc = stateReady, false, nil },
		"a worker that the scheduler does not know": func() { w.state, w.doomed, w.proc = stateReady, false, &workers.Process{} },
	} {
		d.mu.Lock()
		change()
		d.mu.Unlock()
		if n := list(); n != 0 {
			t.Errorf("%s may be ended", name)
		}
	}
	d.mu.Lock()
	w.proc = nil
	d.mu.Unlock()
}

// A worker that exceeds its share of a GPU is ended by the reason that comes first.
func TestWatchHost_EndNow_TheFirstReasonStays(t *testing.T) {
	d, j := opened(t)
	w, _ := ordered(d, j)
	d.mu.Lock()
	ended := sleeps(t, d, w)
	h, id := watchHost{d}, uint64(w.id)
	if found, ok := h.WorkerOf(w.pid); !ok || found != id {
		t.Errorf("process %d belongs to worker %d (%v), want %d", w.pid, found, ok, id)
	}
	if _, ok := h.WorkerOf(1 << 30); ok {
		t.Error("a process that does not exist has a worker")
	}
	first := pressure.Ending{Code: fault.GPUMemoryExceeded, Text: "too much of a GPU"}
	if !h.EndNow(id, first) || h.EndNow(id, pressure.Ending{Code: fault.OutOfMemory, Text: "memory is short"}) || h.EndNow(1000, first) {
		t.Error("only the first reason ends a worker that is there")
	}
	if !w.doomed || w.exceeded != first.Text || w.excess != first.Code {
		t.Errorf("the worker's end is told as %q, %q", w.exceeded, w.excess)
	}
	d.mu.Unlock()
	ended()
}

// The death of a worker that nobody has killed is told as the kernel's when the kernel has
// just ended processes, unless there is another reason.
func TestByKernel_CountRose_ExplainsTheDeath(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "proc"), 0o700); err != nil {
		t.Fatal(err)
	}
	kills := func(n int) {
		if err := os.WriteFile(filepath.Join(root, "proc", "vmstat"), fmt.Appendf(nil, "pgfault 7\noom_kill %d\n", n), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kills(3)
	d, j := openedWith(t, func(o *Options) { o.Memory.Root = root })
	w, _ := ordered(d, j)
	w.pid, w.status = 77, -9
	said := func() string {
		d.mu.Lock()
		defer d.mu.Unlock()
		return w.exceeded
	}
	if d.byKernel(w); said() != "" {
		t.Fatalf("the kernel has ended nobody: %q", said())
	}
	kills(4)
	d.byKernel(w)
	for _, words := range []string{"a worker", "worker pid 77 was killed by signal 9", "node " + d.o.Address} {
		if !strings.Contains(said(), words) {
			t.Errorf("%q does not say %q", said(), words)
		}
	}
	if w.excess != fault.OutOfMemory {
		t.Errorf("the reason is %q", w.excess)
	}
	d.mu.Lock()
	w.exceeded, w.excess = "it had too much of a GPU", fault.GPUMemoryExceeded
	d.mu.Unlock()
	if d.byKernel(w); said() != "it had too much of a GPU" || w.excess != fault.GPUMemoryExceeded {
		t.Errorf("the known reason became %q", said())
	}
}
