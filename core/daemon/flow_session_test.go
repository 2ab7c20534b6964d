package daemon_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/daemon"
	"github.com/eagleray/eagleray/core/head"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/core/resource"
	"github.com/eagleray/eagleray/core/wire"
	"github.com/eagleray/eagleray/raftstate"
)

// limit is how long a test waits for what must come.
const limit = 60 * time.Second

// twoGPUs are devices whose variables are called as CUDA's.
type twoGPUs struct{}

func (twoGPUs) Devices() map[string][]string { return map[string][]string{"GPU": {"0", "1"}} }
func (twoGPUs) Env(d map[string][]string) map[string]string {
	if len(d["GPU"]) == 0 {
		return nil
	}
	return map[string]string{"CUDA_VISIBLE_DEVICES": strings.Join(d["GPU"], ",")}
}
func (twoGPUs) ZeroEnv(d map[string][]string) map[string]string {
	if len(d["GPU"]) > 0 {
		return nil
	}
	return map[string]string{"CUDA_VISIBLE_DEVICES": ""}
}
func (twoGPUs) IntIDs() bool                { return true }
func (twoGPUs) GPUMemory() map[string]int64 { return nil }
func (twoGPUs) MemoryDeclared() bool        { return true }

// session is a daemon in this process, with a head over a state of its own.
type session struct {
	t   *testing.T
	d   *daemon.Daemon
	dir string
}

func start(t *testing.T, cpus int64) *session {
	t.Helper()
	return startWith(t, cpus, func(*daemon.Options) {})
}

// startWith is start with other options.
func startWith(t *testing.T, cpus int64, change func(*daemon.Options)) *session {
	t.Helper()
	base, err := os.MkdirTemp("", "er") // t.TempDir's names are too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	s := &session{t: t, dir: filepath.Join(base, "s")}
	o := daemon.Options{
		SessionDir: s.dir, Node: ids.NewNode(), Totals: resource.Set{resource.CPU: resource.FromInt(cpus)}, Devices: twoGPUs{},
		Log: slog.New(slog.DiscardHandler), ArenaBytes: 100 << 20, CPUs: int(cpus), Hostname: "here", Address: "192.0.2.1", Labels: map[string]string{"zone": "a"}, IsHead: true,
	}
	change(&o)
	if s.d, err = daemon.Open(o); err != nil {
		t.Fatal(err)
	}
	s.d.Serve()
	state, err := raftstate.Open(raftstate.Options{ID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	h, err := head.Open(head.Options{State: state, Placer: placer{s.d}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.Close()
		s.d.Close(false)
		_ = state.Close()
		if _, err := os.Stat(s.dir); err == nil {
			t.Error("the session's folder is left")
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := h.Settle(ctx); err != nil {
		t.Fatal(err)
	}
	node := record.Node{ID: o.Node, Address: o.Address, Hostname: o.Hostname, SessionDir: s.dir, Resources: record.Resources(s.d.Totals()), IsHead: true}
	if err := h.RegisterNode(ctx, node); err != nil {
		t.Fatal(err)
	}
	s.d.SetHead(headOf{h})
	return s
}

// placer and headOf give both sides each other's types, as the binary does.
type placer struct{ d *daemon.Daemon }

func (p placer) PlaceActor(a record.Actor) { p.d.PlaceActor(a) }
func (p placer) StopActor(i record.Instance, how head.Stop) {
	p.d.StopActor(i, how == head.StopDrain)
}

type headOf struct{ *head.Head }

func (h headOf) Resolve(id ids.Actor, after uint64, done func(daemon.Resolution)) (func(), error) {
	cancel, err := h.Head.Resolve(id, after, func(r head.Resolution) { done(daemon.Resolution(r)) })
	return func() { cancel() }, err
}

func (h headOf) Ended(id ids.Actor, incarnation uint64, done func(daemon.Resolution)) (func(), error) {
	cancel, err := h.Head.Ended(id, incarnation, func(r head.Resolution) { done(daemon.Resolution(r)) })
	return func() { cancel() }, err
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

// running reports whether a process is there and not only waits to be reaped.
func running(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(b), ") Z ") && !strings.Contains(string(b), ") X ")
}

// driver is a process that says what a driver says.
type driver struct {
	t     *testing.T
	peer  *wire.Peer
	hello *wire.HelloReply
	arena []byte
	job   wire.JobStarted

	mu    sync.Mutex
	inbox []*wire.Message
	logs  []wire.LogLine
	news  chan struct{}
	next  uint64
}

// connect joins as a role; the connection ends with the test, or by close.
func (s *session) connect(role string) *driver {
	s.t.Helper()
	u, r, fd, err := wire.Dial(s.dir+"/d.sock", wire.Hello{Version: wire.Version, Role: role, Pid: os.Getpid()})
	if err != nil {
		s.t.Fatal(err)
	}
	d := &driver{t: s.t, hello: r, news: make(chan struct{}, 1)}
	if fd >= 0 {
		d.arena, err = unix.Mmap(fd, 0, int(r.ArenaBytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		unix.Close(fd)
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() { _ = unix.Munmap(d.arena) })
	}
	d.peer = wire.NewPeer(u, d.got, nil)
	d.peer.Start()
	s.t.Cleanup(d.peer.Close)
	return d
}

// driver joins as a driver and begins a job, whose processes have these variables.
func (s *session) driver(env map[string]string) *driver {
	s.t.Helper()
	d := s.connect(wire.RoleDriver)
	d.call(wire.TJobStart, wire.JobStart{Namespace: "n", Entrypoint: "prog.py", LogToDriver: true, Env: environment("default", env)}, &d.job)
	return d
}

func environment(key string, env map[string]string) wire.EnvSpec {
	return wire.EnvSpec{Key: key, Python: "/proc/self/exe", Env: env, JobEnv: map[string]string{"PATH": os.Getenv("PATH")}}
}

func (d *driver) got(m *wire.Message) {
	d.mu.Lock()
	defer d.mu.Unlock()
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

func (d *driver) try(t wire.Type, body, reply any) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return d.peer.Call(ctx, t, body, reply)
}

func (d *driver) call(t wire.Type, body, reply any) {
	d.t.Helper()
	if err := d.try(t, body, reply); err != nil {
		d.t.Fatalf("%s: %v", t, err)
	}
}

func (d *driver) push(t wire.Type, body any) {
	d.t.Helper()
	if err := d.peer.Push(t, body); err != nil {
		d.t.Fatal(err)
	}
}

// expect waits for the next push of a type and decodes it; others stay.
func (d *driver) expect(t wire.Type, body any) {
	d.t.Helper()
	timeout := time.After(limit)
	for {
		if d.take(t, body) {
			return
		}
		select {
		case <-d.news:
		case <-timeout:
			d.t.Fatalf("%s did not come", t)
		}
	}
}

func (d *driver) take(t wire.Type, body any) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, m := range d.inbox {
		if m.Type == t {
			d.inbox = append(d.inbox[:i], d.inbox[i+1:]...)
			if err := m.Decode(body); err != nil {
				d.t.Fatal(err)
			}
			return true
		}
	}
	return false
}

// line waits for a line of output.
func (d *driver) line(text string) (found wire.LogLine) {
	d.t.Helper()
	eventually(d.t, fmt.Sprintf("the line %q", text), func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, l := range d.logs {
			if l.Text == text {
				found = l
				return true
			}
		}
		return false
	})
	return found
}

func units(m map[string]float64) map[string]int64 {
	u := map[string]int64{}
	for k, v := range m {
		u[k] = int64(v * 10000)
	}
	return u
}

func (d *driver) class(id uint32, need map[string]float64, env string) {
	d.push(wire.TClassDefine, wire.ClassDefine{ClassID: id, Resources: units(need), EnvKey: env, Name: fmt.Sprintf("f%d", id), Strategy: "DEFAULT"})
}

func (d *driver) want(id uint32, n int) {
	d.push(wire.TLeaseWant, wire.LeaseWant{ClassID: id, Want: n})
}

func (d *driver) lease() *held {
	d.t.Helper()
	h := &held{d: d}
	d.expect(wire.TLeaseGrant, &h.LeaseGrant)
	return h
}

func (d *driver) info() (i wire.ClusterInfo) {
	d.t.Helper()
	d.call(wire.TClusterInfo, nil, &i)
	return i
}

func (d *driver) owner() ids.Owner { return ids.Worker(d.hello.WorkerID).Owner() }

func (d *driver) object() ids.Object {
	d.next++
	return ids.NewObject(d.next, d.owner(), ids.Job(d.job.JobID), 0)
}

// held is a lease with a connection to its worker.
type held struct {
	wire.LeaseGrant
	d    *driver
	conn net.Conn
	r    *bufio.Reader
}

// tell sends a line to the worker and returns its answer, "" when it died.
func (h *held) tell(line string) string {
	h.d.t.Helper()
	if h.conn == nil {
		c, err := net.Dial("unix", h.Addr)
		if err != nil {
			h.d.t.Fatal(err)
		}
		h.conn, h.r = c, bufio.NewReader(c)
		h.d.t.Cleanup(func() { c.Close() })
	}
	_ = h.conn.SetDeadline(time.Now().Add(limit))
	if _, err := fmt.Fprintln(h.conn, line); err != nil {
		return ""
	}
	answer, _ := h.r.ReadString('\n')
	return strings.TrimSuffix(answer, "\n")
}

func (h *held) giveBack() { h.d.push(wire.TLeaseReturn, wire.LeaseReturn{LeaseID: h.LeaseID}) }
