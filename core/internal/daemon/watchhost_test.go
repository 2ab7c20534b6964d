package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/pressure"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/internal/workers"
	"github.com/eagleray/eagleray/core/record"
)

// A worker that was idle in the picture has become an actor's before it is ended.
func TestWatchHost_End_IdleInThePictureAndAnActorByNow_Lives(t *testing.T) {
	d, j := opened(t)
	w := ordered(d, j)
	d.mu.Lock()
	ended := sleeps(t, d, w)
	idle := pressure.Worker{ID: uint64(w.id), Pid: w.Pid(), Work: d.workOf(w, nil)}
	w.actor = &actor{rec: record.Actor{ID: ids.NewActor(j.ID)}}
	d.mu.Unlock()
	why := pressure.Ending{Code: fault.OutOfMemory, Text: "memory is short", Bytes: 9}
	for _, exact := range []bool{true, false} {
		if gone, is := (watchHost{d}).End(idle, exact, why); is || gone != nil {
			t.Errorf("exact %v: the actor is ended", exact)
		}
	}
	d.mu.Lock()
	if w.Dismissed() || w.Excess().Text != "" {
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
	if got := w.Excess(); got != excessOf(why) {
		t.Errorf("the worker's end is told as %+v", got)
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
	w := ordered(d, j)
	wants := func(what string, known bool) {
		t.Helper()
		if n := len(watchHost{d}.List()); (n == 1) != known || n > 1 {
			t.Errorf("%s: %d workers may be ended", what, n)
		}
	}
	wants("a worker without a process", false)
	d.mu.Lock()
	ended := sleeps(t, d, w)
	d.mu.Unlock()
	wants("a worker that comes up", false)
	d.mu.Lock()
	d.table.SetReady(w.Worker)
	d.mu.Unlock()
	wants("a worker that the scheduler does not know", false)
	d.mu.Lock()
	d.event(func(m *sched.Machine) { m.AddJob(j.ID, "env") }) // orders a worker
	var known *worker
	for _, x := range d.workers {
		if x != w {
			known = x
		}
	}
	if known == nil {
		d.mu.Unlock()
		t.Fatal("the scheduler orders no worker")
	}
	endedToo := sleeps(t, d, known)
	d.workerReady(known)
	d.mu.Unlock()
	wants("a worker that is ready", true)
	d.mu.Lock()
	d.table.Kill(w.Worker)
	d.table.Kill(known.Worker)
	d.mu.Unlock()
	ended()
	endedToo()
	wants("a worker that was ended", false)
}

// A worker that exceeds its share of a GPU is ended by the reason that comes first.
func TestWatchHost_EndNow_TheFirstReasonStays(t *testing.T) {
	d, j := opened(t)
	w := ordered(d, j)
	d.mu.Lock()
	ended := sleeps(t, d, w)
	h, id := watchHost{d}, uint64(w.id)
	if found, ok := h.WorkerOf(w.Pid()); !ok || found != id {
		t.Errorf("process %d belongs to worker %d (%v), want %d", w.Pid(), found, ok, id)
	}
	if _, ok := h.WorkerOf(1 << 30); ok {
		t.Error("a process that does not exist has a worker")
	}
	first := pressure.Ending{Code: fault.GPUMemoryExceeded, Text: "too much of a GPU"}
	if !h.EndNow(id, first) || h.EndNow(id, pressure.Ending{Code: fault.OutOfMemory, Text: "memory is short"}) || h.EndNow(2000, first) {
		t.Error("only the first reason ends a worker that is there")
	}
	if !w.Dismissed() || w.Excess() != excessOf(first) {
		t.Errorf("the worker's end is told as %+v", w.Excess())
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
	w := ordered(d, j)
	said := func() string {
		d.mu.Lock()
		defer d.mu.Unlock()
		return w.Excess().Text
	}
	if d.byKernel(w); said() != "" {
		t.Fatalf("the kernel has ended nobody: %q", said())
	}
	kills(4)
	d.byKernel(w)
	for _, words := range []string{"a worker", "worker pid 0 is gone", "node " + d.o.Address} {
		if !strings.Contains(said(), words) {
			t.Errorf("%q does not say %q", said(), words)
		}
	}
	if w.Excess().Code != fault.OutOfMemory {
		t.Errorf("the reason is %q", w.Excess().Code)
	}
	d.mu.Lock()
	w = d.addWorker(1001, j, "env")
	w.Blame(workers.Excess{Text: "it had too much of a GPU", Code: fault.GPUMemoryExceeded})
	d.mu.Unlock()
	if d.byKernel(w); said() != "it had too much of a GPU" || w.Excess().Code != fault.GPUMemoryExceeded {
		t.Errorf("the known reason became %q", said())
	}
}
