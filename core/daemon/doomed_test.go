package daemon

import (
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/resource"
	"github.com/eagleray/eagleray/core/sched"
	"github.com/eagleray/eagleray/core/wire"
)

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
	o := Options{SessionDir: dir + "/s", Node: ids.NewNode(), Totals: resource.Set{resource.CPU: 4 * resource.Unit}, Devices: noDevices{}, ArenaBytes: minArena, CPUs: 4}
	change(&o)
	d, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close(false) })
	j := &job{id: ids.JobOf(1), envs: map[string]*wire.EnvSpec{"env": {Key: "env", Python: "/bin/false"}}, workers: map[sched.WorkerID]*worker{}}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.jobs[j.id] = j
	return d, j
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

// ordered returns a worker whose fork was ordered from a zygote that imports nothing more.
func ordered(d *Daemon, j *job) (*worker, *zygote) {
	d.mu.Lock()
	defer d.mu.Unlock()
	z := d.newZygote(j.envs["env"], j.id)
	z.ready = true
	w := &worker{id: 1, self: ids.NewWorker(), job: j, env: "env", token: newToken(), told: make(chan struct{}), zygote: z, forks: 1}
	d.workers[w.id], d.tokens[w.token], j.workers[w.id] = w, w, w
	d.zygotes[zygoteKey{j.id, "env"}] = z
	return w, z
}

// A driver leaves while its worker is being forked: the order is lost with the
// zygote, and nobody forks that worker again.
func TestWorker_DoomedBeforeItsFork_IsNotForkedAgain(t *testing.T) {
	d, j := opened(t)
	w, z := ordered(d, j)
	d.mu.Lock()
	d.endWithJob(w, jobGrace)
	d.mu.Unlock()
	d.zygoteGone(z, "it was closed")
	d.mu.Lock()
	defer d.mu.Unlock()
	if w.state != stateGone || w.forks != 1 || len(d.zygotes) != 0 || len(d.tokens) != 0 || len(j.workers) != 0 {
		t.Errorf("state %d after %d forks; %d zygotes, %d orders, %d workers", w.state, w.forks, len(d.zygotes), len(d.tokens), len(j.workers))
	}
}

// One that is not doomed is.
func TestWorker_ZygoteLostBeforeItsFork_IsForkedByAnother(t *testing.T) {
	d, j := opened(t)
	w, z := ordered(d, j)
	d.zygoteGone(z, "it was killed")
	d.mu.Lock()
	defer d.mu.Unlock()
	if w.forks != 2 || w.zygote == z {
		t.Errorf("%d forks", w.forks)
	}
}

// The fork was done, but nobody told; the worker that says hello is to be gone.
func TestWorker_DoomedBeforeItsHello_IsKilled(t *testing.T) {
	d, j := opened(t)
	w, _ := ordered(d, j)
	d.mu.Lock()
	d.endWithJob(w, jobGrace)
	d.mu.Unlock()
	got, err := d.claim(w.token)
	if err != nil || got != w {
		t.Fatalf("%v, %v", got, err)
	}
	d.mu.Lock()
	ended := sleeps(t, d, w)
	d.mu.Unlock()
	ended()
}

// A worker that said that it ends by itself and does not is killed: it may hold a device.
func TestWorker_DoesNotEndByItself_IsKilled(t *testing.T) {
	d, j := opened(t)
	w, _ := ordered(d, j)
	d.mu.Lock()
	ended := sleeps(t, d, w)
	d.workerReady(w)
	d.expectEnd(w, 10*time.Millisecond)
	d.mu.Unlock()
	ended()
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
	gone := w.proc.Gone
	return func() {
		t.Helper()
		select {
		case <-gone:
		case <-time.After(60 * time.Second):
			_ = cmd.Process.Kill()
			t.Fatal("it lives")
		}
	}
}
