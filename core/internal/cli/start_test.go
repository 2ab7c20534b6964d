package cli

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestEndNode_ItHasEndedAndIsReaped(t *testing.T) {
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		endNode(cmd, whenEnded(cmd))
	}()
	select {
	case <-done:
	case <-time.After(startLimit):
		_ = cmd.Process.Kill()
		t.Fatal("it does not return")
	}
	if err := unix.Kill(cmd.Process.Pid, 0); err != unix.ESRCH {
		t.Errorf("the process: %v", err)
	}
}

func TestBaseOf_RelativeFolder_IsAbsolute(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("EAGLERAY_TMPDIR", "sub")
	for _, flags := range []map[string]string{nil, {"--temp-dir": "sub"}} {
		if got := baseOf(flags); !strings.HasPrefix(got, filepath.Join(dir, "sub")+"/eagleray-") {
			t.Errorf("%v: %q", flags, got)
		}
	}
}
