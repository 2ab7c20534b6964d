package daemon

import (
	"os"
	"testing"
)

func TestStopped_ProcessesThatRunOrAreGone_AreNot(t *testing.T) {
	if stopped(os.Getpid()) {
		t.Error("this process is said to be stopped")
	}
	if stopped(1 << 30) {
		t.Error("a process that does not exist is said to be stopped")
	}
}
