package daemon

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/internal/workers"
)

// A process that says nothing and one that is stopped are named; what others
// hold is told all the same, and soon.
func TestCensus_SilentProcesses_AreNamed(t *testing.T) {
	d, j := opened(t)
	child := exec.Command("/bin/sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	}()
	if err := child.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(60 * time.Second); !stopped(child.Process.Pid); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the child does not stop")
		}
	}
	deaf, halted, cli := connected(t, wire.RoleDriver), connected(t, wire.RoleWorker), connected(t, wire.RoleCLI)
	deaf.pid, halted.pid = os.Getpid(), child.Process.Pid
	for _, c := range []*client{deaf, halted, cli} {
		c.self, c.job = ids.NewWorkerOn(1), j
		if !d.enlist(c) {
			t.Fatal("the daemon is closing")
		}
	}
	got := d.census(wire.CensusAsk{Limit: 10, TimeoutMs: 50, Objects: true})
	if len(got.Processes) != 0 || len(got.Silent) != 2 {
		t.Fatalf("%+v", got)
	}
	for i, want := range []string{"did not answer within 50ms", "stopped"} {
		if !strings.Contains(got.Silent[i].Why, want) {
			t.Errorf("process %d: %q, want %q", got.Silent[i].Pid, got.Silent[i].Why, want)
		}
	}
	if len(got.Workers) != 1 || got.Workers[0].Role != wire.RoleDriver || !got.Workers[0].Alive {
		t.Errorf("workers: %+v", got.Workers)
	}
}

func TestNoteEnd_ManyWorkers_TheLastOnesAreKept(t *testing.T) {
	d, j := opened(t)
	w := ordered(d, j)
	d.mu.Lock()
	defer d.mu.Unlock()
	for range 3*keptWorkers - 1 {
		d.noteEnd(w, workers.End{Detail: "gone"})
	}
	w.self = ids.NewWorkerOn(1)
	d.noteEnd(w, workers.End{Detail: "gone"})
	if n := len(d.ended); n > keptWorkers || n < keptWorkers/2 {
		t.Errorf("%d are kept", n)
	}
	if last := d.ended[len(d.ended)-1]; !bytes.Equal(last.WorkerID, w.self[:]) || last.Alive || last.Detail != "gone" || last.EndedMs == 0 {
		t.Errorf("the last one: %+v", last)
	}
}

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
