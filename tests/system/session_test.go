package system

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

// limit bounds every wait of these tests.
const limit = 60 * time.Second

// session is one daemon with the parent's end of its socket.
type session struct {
	t      *testing.T
	dir    string
	parent *os.File
	cmd    *exec.Cmd
	exited chan struct{}
}

func startSession(t *testing.T, config map[string]any) *session {
	t.Helper()
	base, err := os.MkdirTemp("", "er")
	if err != nil {
		t.Fatal(err)
	}
	s := &session{t: t, dir: filepath.Join(base, "s-0123456789"), exited: make(chan struct{})}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := config["object_store_memory"]; !ok {
		config["object_store_memory"] = 100 << 20
	}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	s.parent = os.NewFile(uintptr(pair[0]), "parent")
	theirs := os.NewFile(uintptr(pair[1]), "theirs")
	logFile, err := os.Create(filepath.Join(base, "daemon.log"))
	if err != nil {
		t.Fatal(err)
	}
	s.cmd = exec.Command(binary, "daemon", "--embedded", "--parent-fd", "3", "--session-dir", s.dir, "--config", string(text))
	s.cmd.ExtraFiles = []*os.File{theirs}
	s.cmd.Stderr = logFile
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	logFile.Close()
	go func() {
		_ = s.cmd.Wait()
		close(s.exited)
	}()
	line, err := bufio.NewReader(s.parent).ReadString('\n')
	if line != "ready\n" {
		t.Fatalf("the daemon said %q, %v", line, err)
	}
	t.Cleanup(func() {
		s.end()
		if b, err := os.ReadFile(logFile.Name()); err == nil {
			if t.Failed() {
				t.Logf("daemon's log:\n%s", b)
			} else if strings.Contains(string(b), "DATA RACE") {
				t.Errorf("data race in the daemon:\n%s", b)
			}
		}
		os.RemoveAll(base)
	})
	return s
}

// end closes the parent's socket: the daemon must go, with all that it made.
func (s *session) end() {
	s.parent.Close()
	s.gone()
}

// gone waits for the daemon's end and checks what it leaves.
func (s *session) gone() {
	s.t.Helper()
	select {
	case <-s.exited:
	case <-time.After(limit):
		s.t.Error("the daemon does not end")
		_ = s.cmd.Process.Kill()
	}
	if _, err := os.Stat(s.dir); err == nil {
		s.t.Error("the session directory is still there")
	}
	eventually(s.t, "no process of the session is left", func() bool { return len(s.processes()) == 0 })
}

// processes lists those that name the session's directory.
func (s *session) processes() (pids []string) {
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, n := range names {
		b, _ := os.ReadFile(n)
		e, _ := os.ReadFile(strings.TrimSuffix(n, "cmdline") + "environ")
		if strings.Contains(string(b), s.dir) || strings.Contains(string(e), "FAKE_SESSION="+s.dir) {
			pids = append(pids, filepath.Base(filepath.Dir(n)))
		}
	}
	return pids
}

// running reports whether a process is there and not only waits to be reaped.
func running(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(b), ") Z ") && !strings.Contains(string(b), ") X ")
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

// driver is a process that says what a driver says.
type driver struct {
	t     *testing.T
	s     *session
	peer  *wire.Peer
	hello *wire.HelloReply
	arena int
	job   wire.JobStarted

	mu    sync.Mutex
	inbox []*wire.Message
	logs  []wire.LogLine
	news  chan struct{}
	next  uint64
}

func (s *session) connect(role string) *driver {
	s.t.Helper()
	u, r, fd, err := wire.Dial(s.dir+"/d.sock", wire.Hello{Version: wire.Version, Role: role, Pid: os.Getpid()})
	if err != nil {
		s.t.Fatal(err)
	}
	d := &driver{t: s.t, s: s, hello: r, arena: fd, news: make(chan struct{}, 1)}
	d.peer = wire.NewPeer(u, d.got, nil)
	d.peer.Start()
	s.t.Cleanup(func() { d.close() })
	return d
}

func (d *driver) close() {
	d.peer.Close()
	if d.arena >= 0 {
		unix.Close(d.arena)
		d.arena = -1
	}
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

// start connects a driver and registers its program.
func (s *session) start(env map[string]string) *driver {
	s.t.Helper()
	d := s.connect(wire.RoleDriver)
	d.call(wire.TJobStart, wire.JobStart{Namespace: "n", LogToDriver: true, Env: s.env("default", env)}, &d.job)
	return d
}

func (s *session) env(key string, env map[string]string) wire.EnvSpec {
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	all := map[string]string{"FAKE_SESSION": s.dir}
	for k, v := range env {
		all[k] = v
	}
	return wire.EnvSpec{Key: key, Python: self, Env: all, JobEnv: map[string]string{"PATH": os.Getenv("PATH"), "GORACE": "halt_on_error=1"}}
}

func (d *driver) call(t wire.Type, body, reply any) {
	d.t.Helper()
	if err := d.try(t, body, reply); err != nil {
		d.t.Fatalf("%s: %v", t, err)
	}
}

func (d *driver) try(t wire.Type, body, reply any) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return d.peer.Call(ctx, t, body, reply)
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
		d.mu.Lock()
		for i, m := range d.inbox {
			if m.Type == t {
				d.inbox = append(d.inbox[:i], d.inbox[i+1:]...)
				d.mu.Unlock()
				if err := m.Decode(body); err != nil {
					d.t.Fatal(err)
				}
				return
			}
		}
		d.mu.Unlock()
		select {
		case <-d.news:
		case <-timeout:
			d.t.Fatalf("%s did not come", t)
		}
	}
}

// line waits for a line of output.
func (d *driver) line(text string) wire.LogLine {
	d.t.Helper()
	timeout := time.After(limit)
	for {
		d.mu.Lock()
		for _, l := range d.logs {
			if l.Text == text {
				d.mu.Unlock()
				return l
			}
		}
		d.mu.Unlock()
		select {
		case <-d.news:
		case <-timeout:
			d.t.Fatalf("the line %q did not come; there are %v", text, d.logs)
		}
	}
}

func units(m map[string]float64) map[string]int64 {
	u := make(map[string]int64)
	for k, v := range m {
		u[k] = int64(v * 10000)
	}
	return u
}

// class defines a class and wants leases of it.
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
