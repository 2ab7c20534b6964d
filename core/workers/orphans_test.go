package workers

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// What a killed session has left is found by its mark, and killed; others are not.
func TestEndMarked_OnlyTheSessionsProcesses(t *testing.T) {
	start := func(session string) *exec.Cmd {
		c := exec.Command("/bin/sleep", "600")
		c.Env = []string{sessionVar + "=" + session}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Process.Kill() })
		return c
	}
	name := t.TempDir()
	marked, other := start(name), start(name+"x")
	ended := make(chan error, 2)
	go func() { ended <- marked.Wait() }()
	EndSession(name)
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(testLimit):
		t.Fatal("a process of the session lives on")
	}
	if s, ok := readStat(other.Process.Pid); !ok || s.State == 'Z' {
		t.Error("a process of another session was ended")
	}
	_ = other.Process.Kill()
	_ = other.Wait()
}

// The mark is a whole variable of the process's environment.
func TestMarked_WholeVariableOnly(t *testing.T) {
	c := exec.Command("/bin/sleep", "600")
	c.Env = []string{"A=1", "JOB=12", "Z=3"}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}()
	for mark, want := range map[string]bool{"JOB=12": true, "JOB=1": false, "JOB=123": false, "OB=12": false, "A=1": true, "Z=3": true} {
		if got := marked(c.Process.Pid, []byte(mark)); got != want {
			t.Errorf("%s: %v", mark, got)
		}
	}
	if marked(1<<30, []byte("A=1")) {
		t.Error("a process that is not there is marked")
	}
}

// An orphan of a session whose leader is dead is ended; the leader itself, other
// sessions and processes that have a parent are not.
func TestEndLeftBehind_OrphansOfDeadSessions(t *testing.T) {
	orphan := exec.Command("/bin/sleep", "600")
	stays := exec.Command("/bin/sleep", "600")
	for _, c := range []*exec.Cmd{orphan, stays} {
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Process.Kill() }()
	}
	me, pid, other := os.Getpid(), orphan.Process.Pid, stays.Process.Pid
	endLeftBehind(map[int]bool{7: true, other: true}, []ProcStat{
		{Pid: other, PPid: me, Session: 8},
		{Pid: other, PPid: 1, Session: 7},
		{Pid: other, PPid: me, Session: other},
		{Pid: pid, PPid: me, Session: 7},
	})
	ended := make(chan error, 1)
	go func() { ended <- orphan.Wait() }()
	select {
	case <-ended:
	case <-time.After(testLimit):
		t.Fatal("the orphan lives on")
	}
	if s, ok := readStat(other); !ok || s.State == 'Z' {
		t.Error("a process is ended that is no orphan of a dead session")
	}
	_ = stays.Process.Kill()
	_ = stays.Wait()
}
