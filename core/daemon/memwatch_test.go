package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/machine"
)

// A worker's death is the kernel's when the kernel has just ended processes for
// want of memory. An older count explains nothing, and a reason that is known
// already stays.
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
	d, j := opened(t)
	w, _ := ordered(d, j)
	w.pid, w.status = 77, -9
	d.memory.mu.Lock()
	kills(3)
	d.memory.here = machine.NewGauge(machine.Machine{Root: root})
	d.memory.mu.Unlock()
	d.mu.Lock()
	d.memory.noted, d.memory.rose = 3, time.Time{}
	d.mu.Unlock()
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
	for _, words := range []string{"a worker", "worker pid 77 was killed by signal 9", d.nodeName()} {
		if !strings.Contains(said(), words) {
			t.Errorf("%q does not say %q", said(), words)
		}
	}
	if w.excess != fault.OutOfMemory || d.memory.noted != 4 {
		t.Errorf("the reason is %q, %d kills are noted", w.excess, d.memory.noted)
	}
	d.mu.Lock()
	w.exceeded, w.excess = "", ""
	d.mu.Unlock()
	if d.byKernel(w); said() == "" {
		t.Error("the kernel's kill explains only the first death after it")
	}
	d.mu.Lock()
	w.exceeded, w.excess = "it had too much of a GPU", fault.GPUMemoryExceeded
	d.mu.Unlock()
	if d.byKernel(w); said() != "it had too much of a GPU" || w.excess != fault.GPUMemoryExceeded {
		t.Errorf("the known reason became %q", said())
	}
	d.mu.Lock()
	w.exceeded, w.excess, d.memory.rose = "", "", time.Now().Add(-recently-time.Second)
	d.mu.Unlock()
	if d.byKernel(w); said() != "" {
		t.Errorf("an old kill explains the death: %q", said())
	}
}
