package daemon_test

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/play"
)

// The test binary plays the Python side too: zygotes and workers are this
// binary again.
func TestMain(m *testing.M) {
	play.Roles(nil)
	// As the daemon's process does: what a dead zygote leaves becomes its own.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	os.Exit(m.Run())
}
