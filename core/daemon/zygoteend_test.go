package daemon

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
	"github.com/eagleray/eagleray/core/workers"
)

// testLimit is how long tests wait for what must come. It only tells a test that hangs from one that is slow.
const testLimit = 60 * time.Second

// within waits for a condition.
func within(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

// A zygote is stopped, or hangs: its fork is ordered from another one, and it is killed.
func TestZygote_DoesNotAnswer_IsReplaced(t *testing.T) {
	d, j := opened(t)
	script := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexec sleep 1000\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	spec := &wire.EnvSpec{Key: "env", Python: script}
	j.envs["env"] = spec
	d.mu.Lock()
	z, err := d.zygoteFor(j, "env")
	if err != nil {
		t.Fatal(err)
	}
	z.ready = true
	w := &worker{id: 1, self: ids.NewWorker(), job: j, env: "env", token: newToken(), told: make(chan struct{})}
	d.workers[w.id], d.tokens[w.token], j.workers[w.id] = w, w, w
	d.forkFrom(w, z)
	d.mu.Unlock()
	pid := z.Process
	within(t, testLimit, "the zygote runs", func() bool { return pid() != 0 })
	within(t, testLimit, "the order was sent", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return w.ordered
	})
	old := pid()
	_ = unix.Kill(old, unix.SIGSTOP)
	d.forkLate(w, z)
	d.mu.Lock()
	if d.zygotes[zygoteKey{j.id, "env"}] == z {
		t.Error("it is still the one that is asked")
	}
	d.mu.Unlock()
	within(t, testLimit, "another one is asked", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return w.zygote != z && w.forks == 2 && w.state == stateStarting
	})
	within(t, testLimit, "the old one is killed", func() bool { return unix.Kill(old, 0) != nil })
	d.forkLate(w, z) // it is another one's order now
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.zygotes) != 1 || d.zygotes[zygoteKey{j.id, "env"}] != w.zygote {
		t.Error("its replacement was given up")
	}
}

// The daemon of a session was killed, and the next one sweeps: folder and processes.
func TestSweepStale_KilledSession_NothingStays(t *testing.T) {
	base := t.TempDir()
	dead, alive, made, logs := filepath.Join(base, "s-dead"), filepath.Join(base, "s-alive"), filepath.Join(base, "s-made"), filepath.Join(base, "s-logs")
	for _, dir := range []string{dead, alive, made, logs} {
		if err := os.MkdirAll(dir+"/logs", 0o700); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := Lock(dead)
	if err != nil {
		t.Fatal(err)
	}
	lock.Close()
	if lock, err = Lock(alive); err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if again, err := Lock(alive); err == nil {
		again.Close()
		t.Error("a living session was locked twice")
	}
	start := func(session string) *os.Process {
		p, err := os.StartProcess("/bin/sleep", []string{"sleep", "1000"}, &os.ProcAttr{Env: []string{"EAGLERAY_SESSION_MARK=" + session}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = p.Kill()
			_, _ = p.Wait()
		})
		return p
	}
	orphan, other := start("s-dead"), start("s-alive")
	_ = unix.Kill(orphan.Pid, unix.SIGSTOP)
	within(t, testLimit, "it runs", func() bool {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", orphan.Pid))
		return err == nil && bytes.Contains(env, []byte("EAGLERAY_SESSION_MARK=s-dead"))
	})
	SweepStale(base)
	for dir, want := range map[string]bool{dead: false, alive: true, made: true, logs: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s: there %v, want %v", dir, err == nil, want)
		}
	}
	runs := func(p *os.Process) bool {
		return slices.ContainsFunc(workers.Processes(), func(s workers.ProcStat) bool { return s.Pid == p.Pid && s.State != 'Z' })
	}
	within(t, testLimit, "what it left is ended", func() bool { return !runs(orphan) })
	if !runs(other) {
		t.Error("a living session's process was ended")
	}
}
