package play

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// OneCPU is what most classes of tests need.
var OneCPU = map[string]float64{"CPU": 1}

// Driver is a connection that says what a driver or a command line tool says.
type Driver struct {
	T     testing.TB
	Dir   string // the session's folder
	Peer  *wire.Peer
	Hello *wire.HelloReply
	Arena []byte // the store's memory
	Job   wire.JobStarted

	mu     sync.Mutex
	census *wire.ProcessCensus // what it answers when it is asked what it holds
	inbox  []*wire.Message
	logs   []wire.LogLine
	news   chan struct{}
	next   uint64
}

// Connect joins the session in a folder as a role. The connection ends with
// the test, or when its peer is closed.
func Connect(t testing.TB, dir, role string) *Driver {
	t.Helper()
	u, r, fd, err := wire.Dial(dir+"/d.sock", wire.Hello{Version: wire.Version, Role: role, Pid: os.Getpid()})
	if err != nil {
		t.Fatal(err)
	}
	d := &Driver{T: t, Dir: dir, Hello: r, news: make(chan struct{}, 1)}
	if fd >= 0 {
		d.Arena, err = unix.Mmap(fd, 0, int(r.ArenaBytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		unix.Close(fd)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Munmap(d.Arena) })
	}
	d.Peer = wire.NewPeer(u, d.got, nil)
	d.Peer.Start()
	t.Cleanup(d.Peer.Close)
	return d
}

// Join joins as a driver and begins a job, whose processes have these variables.
func Join(t testing.TB, dir string, env map[string]string) *Driver {
	t.Helper()
	d := Connect(t, dir, wire.RoleDriver)
	d.Call(wire.TJobStart, wire.JobStart{Namespace: "n", Entrypoint: "prog.py", LogToDriver: true, Env: d.Environment("default", env)}, &d.Job)
	return d
}

// Environment is the function of that name, in this driver's session.
func (d *Driver) Environment(key string, env map[string]string) wire.EnvSpec {
	d.T.Helper()
	return Environment(d.T, d.Dir, key, env)
}

// Environment describes one whose interpreter is the test binary. The variable
// FAKE_SESSION lets a test find the processes of the session in a folder.
func Environment(t testing.TB, dir, key string, env map[string]string) wire.EnvSpec {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{"FAKE_SESSION": dir}
	maps.Copy(all, env)
	return wire.EnvSpec{Key: key, Python: self, Env: all, JobEnv: map[string]string{"PATH": os.Getenv("PATH"), "GORACE": "halt_on_error=1"}}
}

func (d *Driver) got(m *wire.Message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m.Type == wire.TProcessCensus && d.census != nil {
		_ = m.Reply(d.census)
		return
	}
	var b wire.LogBatch
	if m.Type == wire.TLogs && m.Decode(&b) == nil {
		d.logs = append(d.logs, b.Lines...)
	} else {
		d.inbox = append(d.inbox, m)
	}
	select {
	case d.news <- struct{}{}:
	default:
	}
}

// Try sends a request and decodes its answer.
func (d *Driver) Try(t wire.Type, body, reply any) error {
	ctx, cancel := context.WithTimeout(context.Background(), Limit)
	defer cancel()
	return d.Peer.Call(ctx, t, body, reply)
}

// Call is Try where an error fails the test.
func (d *Driver) Call(t wire.Type, body, reply any) {
	d.T.Helper()
	if err := d.Try(t, body, reply); err != nil {
		d.T.Fatalf("%s: %v", t, err)
	}
}

// Push sends a message that has no answer.
func (d *Driver) Push(t wire.Type, body any) {
	d.T.Helper()
	if err := d.Peer.Push(t, body); err != nil {
		d.T.Fatal(err)
	}
}

// Expect waits for the next push of a type and decodes it; others stay.
func (d *Driver) Expect(t wire.Type, body any) {
	d.T.Helper()
	timeout := time.After(Limit)
	for !d.Take(t, body) {
		select {
		case <-d.news:
		case <-timeout:
			d.T.Fatalf("%s did not come", t)
		}
	}
}

// Take decodes the next push of a type if one has come.
func (d *Driver) Take(t wire.Type, body any) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, m := range d.inbox {
		if m.Type == t {
			d.inbox = append(d.inbox[:i], d.inbox[i+1:]...)
			if err := m.Decode(body); err != nil {
				d.T.Fatal(err)
			}
			return true
		}
	}
	return false
}

// Holds has the driver answer with a census when it is asked what it holds.
// Before, it does not answer.
func (d *Driver) Holds(t wire.ProcessCensus) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.census = &t
}

// Logs gives the lines of output that have come.
func (d *Driver) Logs() []wire.LogLine {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.logs)
}

// StopsReading has the driver read nothing until the returned function is called.
func (d *Driver) StopsReading() func() {
	d.mu.Lock()
	return d.mu.Unlock
}

// Line waits for a line of output.
func (d *Driver) Line(text string) (found wire.LogLine) {
	d.T.Helper()
	Eventually(d.T, fmt.Sprintf("the line %q", text), func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		i := slices.IndexFunc(d.logs, func(l wire.LogLine) bool { return l.Text == text })
		if i >= 0 {
			found = d.logs[i]
		}
		return i >= 0
	})
	return found
}

// Class defines a class of tasks.
func (d *Driver) Class(id uint32, need map[string]float64, env string) {
	d.Push(wire.TClassDefine, wire.ClassDefine{ClassID: id, Resources: Units(need), EnvKey: env, Name: fmt.Sprintf("f%d", id), Strategy: "DEFAULT"})
}

// Want asks for so many leases of a class.
func (d *Driver) Want(id uint32, n int) {
	d.Push(wire.TLeaseWant, wire.LeaseWant{ClassID: id, Want: n})
}

// Lease waits for the next lease.
func (d *Driver) Lease() *Held {
	d.T.Helper()
	h := &Held{D: d}
	d.Expect(wire.TLeaseGrant, &h.LeaseGrant)
	return h
}

// Leased defines a class of one CPU, asks for one lease of it, and gives it.
func (d *Driver) Leased(class uint32) *Held {
	d.T.Helper()
	d.Class(class, OneCPU, "default")
	d.Want(class, 1)
	return d.Lease()
}

// Info asks for the cluster's state.
func (d *Driver) Info() (i wire.ClusterInfo) {
	d.T.Helper()
	d.Call(wire.TClusterInfo, nil, &i)
	return i
}

// Owner is what the ids of this process's objects name.
func (d *Driver) Owner() ids.Owner { return ids.Worker(d.Hello.WorkerID).Owner() }
