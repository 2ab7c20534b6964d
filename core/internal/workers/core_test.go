package workers

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestNoCore_ThisProcessHasNone_StartedOnesHaveWhatItHad(t *testing.T) {
	var before, now, child unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &before); err != nil {
		t.Fatal(err)
	}
	usual := unix.Rlimit{Cur: before.Max, Max: before.Max}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &usual); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cores.before = nil
		if err := unix.Setrlimit(unix.RLIMIT_CORE, &before); err != nil {
			t.Error(err)
		}
	}()
	for range 2 {
		if err := NoCore(); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &now); err != nil || now.Cur > noCore || now.Max != usual.Max {
		t.Errorf("%+v, %v", now, err)
	}
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if err := mayDump(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if err := unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_CORE, nil, &child); err != nil || child != usual {
		t.Errorf("the child has %+v, want %+v, %v", child, usual, err)
	}
}

// Where core files have the hard limit 0, a program that collects them is called all the same, unless the process cannot be dumped.
func TestNoCore_HardLimitIsZero_ProcessCannotBeDumped(t *testing.T) {
	const variable = "WORKERS_TEST_NO_CORE"
	if os.Getenv(variable) == "" { // the limit cannot be raised again, so another process tries it
		cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), variable+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		t.Fatal(err)
	}
	dumpable := func() int {
		n, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := dumpable(); n != 1 {
		t.Fatalf("before: %d", n)
	}
	if err := NoCore(); err != nil || dumpable() != 0 {
		t.Errorf("%d, %v", dumpable(), err)
	}
}
