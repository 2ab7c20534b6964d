package workers

import (
	"os/exec"
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
