package cli

import (
	"os"
	"testing"
)

// releaseVar names a release that the processes of a node have in place of the usual one.
const releaseVar = "EAGLERAY_TEST_RELEASE"

// TestMain makes the test's program stand for eagleray: start runs its own program as the warden, and the warden runs it as
// head and daemon.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "warden", "head", "daemon":
			release := "1.2.3"
			if other := os.Getenv(releaseVar); other != "" {
				release = other
			}
			os.Exit(Main(os.Args[1:], release, os.Stdout, os.Stderr))
		}
	}
	os.Exit(m.Run())
}
