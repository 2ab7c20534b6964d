package daemon

import (
	"net"
	"os"
	"os/exec"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/internal/workers"
	"github.com/eagleray/eagleray/tests/await"
)

// testLimit is how long tests wait for what must come. It only tells a test that hangs from one that is slow.
const testLimit = await.Limit

type noDevices struct{}

func (noDevices) Devices() map[string][]string                  { return nil }
func (noDevices) Env(map[string][]string) map[string]string     { return nil }
func (noDevices) ZeroEnv(map[string][]string) map[string]string { return nil }
func (noDevices) IntIDs() bool                                  { return true }
func (noDevices) GPUMemory() map[string]int64                   { return nil }
func (noDevices) MemoryDeclared() bool                          { return true }

// opened returns a daemon that serves nobody, and a job with the environment "env".
func opened(t *testing.T) (*Daemon, *job) { return openedWith(t, func(*Options) {}) }

// openedWith is opened with options that the test changes.
func openedWith(t *testing.T, change func(*Options)) (*Daemon, *job) {
	t.Helper()
	dir, err := os.MkdirTemp("", "er") // t.TempDir's names are too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	o := Options{SessionDir: dir + "/s", Node: ids.NewNode(), Number: 1, Totals: resource.Set{resource.CPU: 4 * resource.Unit}, Devices: noDevices{}, ArenaBytes: minArena, CPUs: 4}
	change(&o)
	d, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close(false) })
	j := jobOf(1)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.jobs[j.ID] = j
	return d, j
}

// jobOf returns a job that no driver has started.
func jobOf(number uint32) *job {
	j := &job{Job: workers.NewJob(ids.JobOf(number), nil), workers: make(map[sched.WorkerID]*worker)}
	j.DefineEnv(wire.EnvSpec{Key: "env", Python: "/bin/false"})
	return j
}

// connected returns a process that says nothing.
func connected(t *testing.T, role string) *client {
	a, b := net.Pipe()
	c := &client{role: role, peer: wire.NewPeer(a, func(*wire.Message) {}, func(error) {})}
	c.peer.Start()
	t.Cleanup(func() {
		c.peer.Close()
		b.Close()
	})
	return c
}

// ordered returns a worker that is starting. No zygote forks it, and the scheduler does
// not know its number.
func ordered(d *Daemon, j *job) *worker {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.addWorker(1000, j, "env")
}

// sleeps makes a process that does not end the worker's; mu held. The result waits for its end.
func sleeps(t *testing.T, d *Daemon, w *worker) (ended func()) {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := connected(t, wire.RoleWorker)
	c.pid, c.worker, c.self, c.job = cmd.Process.Pid, w, w.self, w.job
	d.workerConnected(c)
	gone := w.Process().Gone
	return func() {
		t.Helper()
		await.Gone(t, gone, "the process of the worker", cmd.Process.Kill)
	}
}
