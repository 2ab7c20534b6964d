package census

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// testLimit is how long a test waits for what must happen.
const testLimit = 60 * time.Second

// A process that runs or sleeps is not stopped, and neither is one that is not
// there; one that a signal has stopped is, whatever its name looks like.
func TestStopped_OnlyOneThatASignalHasStopped(t *testing.T) {
	if stopped(os.Getpid()) || stopped(1<<30) {
		t.Error("this process, or one that is not there, is stopped")
	}
	// The kernel cuts the name at 15 bytes.
	program := t.TempDir() + "/a) T (b) t"
	script := "#!/bin/sh\necho\nread line\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	child := exec.Command(program)
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = child.Process.Kill()
		in.Close()
		_ = child.Wait()
	}()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if stopped(child.Process.Pid) {
		t.Error("a process that waits for a line is stopped")
	}
	if err := child.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(testLimit); !stopped(child.Process.Pid); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a process that a signal has stopped does not count as stopped")
		}
	}
}
