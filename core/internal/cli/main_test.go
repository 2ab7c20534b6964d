package cli

import (
	"os"
	"testing"
)

// TestMain makes the test's program stand for eagleray: start runs its own program as the warden, and the warden runs it as
// head and daemon.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "warden", "head", "daemon":
			os.Exit(Main(os.Args[1:], "1.2.3", os.Stdout, os.Stderr))
		}
	}
	os.Exit(m.Run())
}
