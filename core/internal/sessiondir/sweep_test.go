package sessiondir

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/workers"
	"github.com/eagleray/eagleray/tests/await"
)

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
	await.Within(t, await.Limit, "it runs", func() bool {
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
	await.Within(t, await.Limit, "what it left is ended", func() bool { return !runs(orphan) })
	if !runs(other) {
		t.Error("a living session's process was ended")
	}
}
