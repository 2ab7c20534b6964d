package workers

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/tests/await"
)

// A zygote is stopped, or hangs: its fork is ordered from another one, and it is killed.
func TestZygote_DoesNotAnswer_IsReplaced(t *testing.T) {
	tb, j := openTable(t)
	script := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexec sleep 1000\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	spec := &wire.EnvSpec{Key: "env", Python: script}
	j.envs["env"] = spec
	tb.mu.Lock()
	z, err := tb.zygoteFor(j, "env")
	if err != nil {
		t.Fatal(err)
	}
	z.ready = true
	w := tb.Add(1, j, "env", &heard{gone: make(chan struct{}, 1), outside: make(chan struct{}, 1)})
	tb.forkFrom(w, z)
	tb.mu.Unlock()
	pid := z.Process
	await.Within(t, testLimit, "the zygote runs", func() bool { return pid() != 0 })
	await.Within(t, testLimit, "the order was sent", func() bool {
		tb.mu.Lock()
		defer tb.mu.Unlock()
		return w.forkSent
	})
	old := pid()
	_ = unix.Kill(old, unix.SIGSTOP)
	tb.forkLate(w, z)
	tb.mu.Lock()
	if tb.zygotes[envKey{j.ID, "env"}] == z {
		t.Error("it is still the one that is asked")
	}
	tb.mu.Unlock()
	await.Within(t, testLimit, "another one is asked", func() bool {
		tb.mu.Lock()
		defer tb.mu.Unlock()
		return w.zygote != z && w.forks == 2 && w.state == Starting
	})
	await.Within(t, testLimit, "the old one is killed", func() bool { return unix.Kill(old, 0) != nil })
	tb.forkLate(w, z) // it is another one's order now
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if len(tb.zygotes) != 1 || tb.zygotes[envKey{j.ID, "env"}] != w.zygote {
		t.Error("its replacement was given up")
	}
}

// How a zygote ended is noted at the zygote of that process only: one that a
// signal has ended is known as killed.
func TestZygoteReaped_KilledBySignal_IsNoted(t *testing.T) {
	tb, j := openTable(t)
	_, z, _ := ordered(tb, j) // it does not run, so its process is 0
	tb.mu.Lock()
	defer tb.mu.Unlock()
	for _, c := range []struct {
		pid, status int
		killed      bool
	}{{0, 1, false}, {0, 0, false}, {5, -9, false}, {0, -9, true}, {5, 0, true}, {0, -1, true}, {0, 0, false}} {
		if tb.zygoteReaped(c.pid, c.status); z.killed != c.killed {
			t.Errorf("process %d ended with %d: killed is %v", c.pid, c.status, z.killed)
		}
	}
}
