package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/daemon"
	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/pressure"
	"github.com/eagleray/eagleray/core/internal/wire"
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
	s, root := short(t, 2)
	d := s.Driver(nil)
	d.Class(1, play.OneCPU, "default")
	d.Want(1, 2)
	a, b := d.Lease(), d.Lease()
	d.Want(1, 0)
	d.Info()
	if !play.Running(a.Pid) || !play.Running(b.Pid) {
		t.Fatal("a worker is ended while there is enough")
	}
	anonymous(t, root, 950)
	var x wire.LeaseBroken
	d.Expect(wire.TLeaseBroken, &x)
	anonymous(t, root, 500)
	if x.Code != string(fault.OutOfMemory) || !strings.Contains(x.Detail, "greedy") || !strings.Contains(x.Detail, "memory") {
		t.Errorf("got %+v", x)
	}
}

// short begins a session on a machine whose memory the test says.
func short(t *testing.T, cpus int64) (*play.Session, string) {
	t.Helper()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "proc"), 0o700); err != nil {
		t.Fatal(err)
	}
	anonymous(t, root, 500)
	watch := pressure.Options{Every: 5 * time.Millisecond, Threshold: 0.9, MinFree: -1, Root: root}
	return play.StartWith(t, cpus, func(o *daemon.Options) { o.Memory = watch }), root
}

// Who is ended first: a worker without work, whose owner hears nothing, before
// one that works.
func TestFlow_MemoryIsShort_IdleWorkersFirst(t *testing.T) {
	s, root := short(t, 2)
	d := s.Driver(nil)
	d.Class(1, play.OneCPU, "default")
	d.Want(1, 2)
	idle, works := d.Lease(), d.Lease()
	d.Want(1, 0)
	idle.GiveBack()
	d.Info()
	anonymous(t, root, 950)
	play.Eventually(t, "the worker without work has ended", func() bool { return !play.Running(idle.Pid) })
	anonymous(t, root, 500)
	if !play.Running(works.Pid) {
		t.Error("the worker that works is ended, too")
	}
	d.Info()
	var x wire.LeaseBroken
	if d.Take(wire.TLeaseBroken, &x) {
		t.Errorf("got %+v for a worker that nobody had", x)
	}
}

// An actor that is ended for its memory restarts if it may, and its callers hear why.
func TestFlow_MemoryIsShort_ActorsHearWhy(t *testing.T) {
	s, root := short(t, 2)
	d := s.Driver(nil)
	id := d.Made("", func(q *wire.ActorCreate) { q.MaxRestarts = 1 })
	for i, want := range []struct{ state, words string }{{wire.ActorRestarting, "it restarts because its node ran out of memory"}, {wire.ActorDead, "its node ran out of memory"}} {
		st := d.Resolve(id, uint64(i))
		anonymous(t, root, 950)
		play.Eventually(t, "its process has ended", func() bool { return !play.Running(st.Pid) })
		anonymous(t, root, 500)
		f := d.Lost(id, uint64(i+1))
		if f.State != want.state || f.Cause != string(fault.OutOfMemory) || !strings.Contains(f.Message, want.words) || !strings.Contains(f.Message, "Counter") {
			t.Errorf("incarnation %d: got %+v", i+1, f)
		}
	}
}

// A task that can run again is ended before one that must not, whichever came first.
func TestFlow_MemoryIsShort_TasksThatCanRunAgainFirst(t *testing.T) {
	for _, firstIsOnce := range []bool{true, false} {
		s, root := short(t, 2)
		d := s.Driver(nil)
		d.Class(1, play.OneCPU, "default")
		d.Want(1, 2)
		once, again := d.Lease(), d.Lease()
		if !firstIsOnce {
			once, again = again, once
		}
		d.Want(1, 0)
		once.Tell("once")
		anonymous(t, root, 950)
		var x wire.LeaseBroken
		d.Expect(wire.TLeaseBroken, &x)
		anonymous(t, root, 500)
		if x.LeaseID != again.LeaseID {
			t.Errorf("lease %d is ended first, want %d", x.LeaseID, again.LeaseID)
		}
	}
}

// The chosen worker begins a task that must not run twice before it is ended: so another one is
// chosen. Where tasks are so short that each look shows another one, that stops nobody.
func TestFlow_MemoryIsShort_ChosenWorkerDoesSomethingElseByThen(t *testing.T) {
	for _, verb := range []string{"turns", "hurries"} {
		t.Run(verb, func(t *testing.T) {
			s, root := short(t, 2)
			d := s.Driver(nil)
			d.Class(1, play.OneCPU, "default")
			d.Want(1, 2)
			changes, stays := d.Lease(), d.Lease()
			d.Want(1, 0)
			changes.Tell(verb)
			stays.Tell("old") // the newest task is chosen first
			want := changes
			if verb == "turns" {
				want = stays
			}
			anonymous(t, root, 950)
			var x wire.LeaseBroken
			d.Expect(wire.TLeaseBroken, &x)
			anonymous(t, root, 500)
			if x.LeaseID != want.LeaseID || x.Code != string(fault.OutOfMemory) {
				t.Errorf("got %+v, want lease %d", x, want.LeaseID)
			}
		})
	}
}
