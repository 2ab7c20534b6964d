package daemon_test

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// The test binary plays the Python side too: run with -m it is a zygote, whose
// workers are this binary again.
func TestMain(m *testing.M) {
	if len(os.Args) >= 3 && os.Args[1] == "-m" {
		os.Exit(playZygote())
	}
	if len(os.Args) == 3 && os.Args[0] == "fake-worker" {
		os.Exit(playWorker(os.Args[1], os.Args[2]))
	}
	// As the daemon's process does: what a dead zygote leaves becomes its own.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	os.Exit(m.Run())
}
