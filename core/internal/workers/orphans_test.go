package workers

import (
	"errors"
	"os"
	"os/exec"
	"slices"
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

// The environment of a process is empty for a moment during an exec, and is read again.
func TestHasVariable_EmptyDuringExec_IsReadAgain(t *testing.T) {
	reads, none := 0, errors.New("it has ended")
	after := func(n int, env string, err error) func() ([]byte, error) {
		reads = 0
		return func() ([]byte, error) {
			if reads++; reads <= n {
				return nil, nil
			}
			return []byte(env), err
		}
	}
	execs := func() bool { return true }
	rests := func() bool { return false }
	for _, x := range []struct {
		what  string
		read  func() ([]byte, error)
		execs func() bool
		want  bool
		reads int
	}{
		{"at once", after(0, "A=1\x00B=2\x00", nil), execs, true, 1},
		{"after three looks", after(3, "A=1\x00B=2\x00", nil), execs, true, 4},
		{"another environment after three looks", after(3, "A=2\x00", nil), execs, false, 4},
		{"it ends during its exec", after(3, "", none), execs, false, 4},
		{"it has no environment", after(1000, "", nil), rests, false, 2},
		{"the exec ended after the first look", after(1, "B=2", nil), rests, true, 2},
		{"the exec never ends", after(1000, "", nil), execs, false, execLooks + 1},
	} {
		reads = 0
		if got := hasVariable([]byte("B=2"), x.read, x.execs); got != x.want || reads != x.reads {
			t.Errorf("%s: %v after %d looks, want %v after %d", x.what, got, reads, x.want, x.reads)
		}
	}
}

func TestExecIsUnderWay_FieldsOfStat(t *testing.T) {
	line := func(size, end string) []byte {
		fields := slices.Repeat([]string{"7"}, 52)
		fields[1], fields[22], fields[50] = "(a (b) c)", size, end
		return []byte(strings.Join(fields, " "))
	}
	for _, x := range []struct {
		size, end string
		want      bool
	}{{"4096", "0", true}, {"4096", "140000", false}, {"0", "0", false}} { // a kernel's thread has no memory
		if got := execIsUnderWay(line(x.size, x.end)); got != x.want {
			t.Errorf("memory %s, environment's end %s: %v", x.size, x.end, got)
		}
	}
	own, err := os.ReadFile("/proc/self/stat")
	if err != nil || execIsUnderWay(own) || execIsUnderWay(nil) || execIsUnderWay([]byte("1 (x")) {
		t.Errorf("neither this process nor one whose line ends early execs: %v", err)
	}
}
