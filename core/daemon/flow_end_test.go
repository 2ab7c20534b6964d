package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/daemon"
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/wire"
)

// A driver that says goodbye is answered when its workers' last words were sent.
func TestFlow_JobEnd_AnsweredAfterTheLastWords(t *testing.T) {
	s := start(t, 2)
	d, other := s.driver(nil), s.driver(nil)
	d.class(1, oneCPU, "default")
	d.want(1, 1)
	a := d.lease()
	a.tell("print last words")
	d.call(wire.TJobEnd, nil, nil)
	d.mu.Lock()
	found := false
	for _, l := range d.logs {
		found = found || l.Text == "last words"
	}
	d.mu.Unlock()
	if !found {
		t.Error("the last words come after the answer")
	}
	eventually(t, "its worker has ended", func() bool { return !running(a.Pid) })
	eventually(t, "one job is left", func() bool { return other.info().Jobs == 1 })
	cli := s.connect(wire.RoleCLI)
	wantCode(t, "a tool's job", cli.try(wire.TJobEnd, nil, nil), fault.BadRequest)
}

func TestFlow_Forget_ReachesTheJobsWorkers(t *testing.T) {
	s := start(t, 2)
	d, other := s.driver(nil), s.driver(nil)
	d.class(1, oneCPU, "default")
	other.class(1, oneCPU, "default")
	d.want(1, 1)
	other.want(1, 1)
	mine, theirs := d.lease(), other.lease()
	d.push(wire.TForget, wire.FunctionRef{FID: []byte("function-of-mine")})
	eventually(t, "the worker has heard it", func() bool { return mine.tell("forgot") == "function-of-mine" })
	if got := theirs.tell("forgot"); got != "ok" {
		t.Errorf("another job's worker forgets %s", got)
	}
}

func TestFlow_Footprint_CountsTheTables(t *testing.T) {
	s := start(t, 2)
	d, cli := s.driver(nil), s.connect(wire.RoleCLI)
	d.class(1, oneCPU, "default")
	d.want(1, 1)
	d.lease()
	id := d.made("", nil)
	d.resolve(id, 0)
	d.put(4096)
	var n map[string]uint64
	cli.call(wire.TFootprint, wire.FootprintAsk{}, &n)
	for name, want := range map[string]uint64{
		"n_jobs": 1, "n_actors": 1, "n_objects": 1, "n_zygotes": 1, "n_envs": 1, "n_in_arena": 1, "n_sched_leases": 1, "n_head_actors": 1,
		"n_cancels": 0, "n_wills": 0, "n_falls": 0, "n_clients": 4, "n_owners": 3,
	} {
		if n[name] != want {
			t.Errorf("%s is %d, want %d", name, n[name], want)
		}
	}
}

func TestSessionDir_IsFreshAndPrivate(t *testing.T) {
	t.Setenv("EAGLERAY_TMPDIR", "")
	t.Setenv("RAY_TMPDIR", "/ray")
	if got := daemon.Base(); !strings.HasPrefix(got, "/ray/eagleray-") {
		t.Errorf("got %s", got)
	}
	t.Setenv("EAGLERAY_TMPDIR", "/ours")
	if got := daemon.Base(); !strings.HasPrefix(got, "/ours/eagleray-") || got != daemon.BaseIn("/ours") {
		t.Errorf("got %s", got)
	}
	base := filepath.Join(t.TempDir(), "b")
	one, err := daemon.NewSessionDir(base)
	if err != nil {
		t.Fatal(err)
	}
	two, err := daemon.NewSessionDir(base)
	if err != nil || one == two || filepath.Dir(one) != base || !strings.HasPrefix(filepath.Base(one), "s-") {
		t.Errorf("got %s and %s, %v", one, two, err)
	}
	if st, err := os.Stat(base); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	if err := os.MkdirAll(one, 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := daemon.Lock(one)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := daemon.Lock(one); err == nil {
		again.Close()
		t.Error("a session is locked twice")
	}
	daemon.SweepStale(base)
	if _, err := os.Stat(one); err != nil {
		t.Error("a session that is in use is swept away")
	}
	lock.Close()
	daemon.SweepStale(base)
	if _, err := os.Stat(one); err == nil {
		t.Error("a session that nobody uses is left")
	}
}
