package daemon

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/inquiry"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/internal/workers"
	"github.com/eagleray/eagleray/core/record"
)

// noRows is a head of a cluster that has nothing.
type noRows struct{ inquiry.Reads }

func (noRows) Nodes(context.Context) ([]record.Node, error) { return nil, nil }
func (noRows) Jobs(context.Context) ([]record.Job, error)   { return nil, nil }
func (noRows) Groups(context.Context) ([]record.Group, error) {
	return nil, nil
}
func (noRows) ActorsOf(context.Context, record.ActorFilter) ([]record.Actor, error) {
	return nil, nil
}

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
	var st unix.WaitStatus
	if _, err := unix.Wait4(child.Process.Pid, &st, unix.WUNTRACED, nil); err != nil || !st.Stopped() {
		t.Fatalf("the child does not stop: %v", err)
	}
	deaf, halted, cli := connected(t, wire.RoleDriver), connected(t, wire.RoleWorker), connected(t, wire.RoleCLI)
	deaf.pid, halted.pid = os.Getpid(), child.Process.Pid
	for _, c := range []*client{deaf, halted, cli} {
		c.self, c.job = ids.NewWorkerOn(1), j
		if !d.enlist(c) {
			t.Fatal("the daemon is closing")
		}
	}
	c, err := d.census.Take(t.Context(), noRows{}, &wire.CensusAsk{Limit: 10, TimeoutMs: 50, Objects: true})
	if err != nil || len(c.Parts) != 1 {
		t.Fatalf("the census is %+v, %v", c, err)
	}
	got := c.Parts[0]
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
