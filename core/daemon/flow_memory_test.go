package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/daemon"
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/pressure"
	"github.com/eagleray/eagleray/core/wire"
)

// anonymous says how many MiB of 1000 the machine's processes have.
func anonymous(t *testing.T, root string, n int) {
	t.Helper()
	text := fmt.Sprintf("MemTotal: %d kB\nMemAvailable: %d kB\nCached: 0 kB\nShmem: 0 kB\nAnonPages: %d kB\n", 1000<<10, (1000-n)<<10, n<<10)
	path := filepath.Join(root, "proc", "meminfo")
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// When memory is short one worker is ended, and its owner is told why; when
// there is enough again nobody is.
func TestFlow_MemoryIsShort_OneTaskIsEnded(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "proc"), 0o700); err != nil {
		t.Fatal(err)
	}
	anonymous(t, root, 500)
	watch := pressure.Options{Every: 5 * time.Millisecond, Threshold: 0.9, MinFree: -1, Root: root}
	s := startWith(t, 2, func(o *daemon.Options) { o.Memory = watch })
	d := s.driver(nil)
	d.class(1, oneCPU, "default")
	d.want(1, 2)
	a, b := d.lease(), d.lease()
	d.want(1, 0)
	d.info()
	if !running(a.Pid) || !running(b.Pid) {
		t.Fatal("a worker is ended while there is enough")
	}
	anonymous(t, root, 950)
	var x wire.LeaseBroken
	d.expect(wire.TLeaseBroken, &x)
	anonymous(t, root, 500)
	if x.Code != string(fault.OutOfMemory) || !strings.Contains(x.Detail, "greedy") || !strings.Contains(x.Detail, "memory") {
		t.Errorf("got %+v", x)
	}
}
