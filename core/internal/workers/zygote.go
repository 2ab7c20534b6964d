package workers

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// zygoteModule is what a zygote runs.
const zygoteModule = "eagleray._private.worker.zygote"

// titleRoom is an argument that zygotes ignore. Its memory has room for what
// workers show as their command line.
var titleRoom = strings.Repeat(" ", 128)

// ImportLimit is how long a zygote may take to import the modules that it preloads.
const ImportLimit = 3 * time.Minute

// maxZygotePacket caps a packet from a zygote.
const maxZygotePacket = 16 << 10

// zygotePacket is one packet in either direction; see docs/protocol.md.
type zygotePacket struct {
	Op     string `json:"op"`
	Token  string `json:"token,omitempty"`
	Sock   string `json:"sock,omitempty"`
	Pid    int    `json:"pid,omitempty"`
	Status int    `json:"status,omitempty"`
	Error  string `json:"error,omitempty"`
	Text   string `json:"text,omitempty"`
}

// zygoteSetup travels in a memfd, for an environment is longer than a packet.
type zygoteSetup struct {
	Preload []string          `json:"preload"`
	SysPath []string          `json:"sys_path"`
	Cwd     string            `json:"cwd"`
	Env     map[string]string `json:"env"`
	Bare    bool              `json:"bare"`
	NodeEnv map[string]string `json:"node_env,omitempty"` // of the node; user code sees them, and its tasks on other nodes do not

	Packages []wire.Package    `json:"packages,omitempty"`
	Python   string            `json:"python,omitempty"` // with needs: the environment's interpreter, which may be another than that of the zygote
	Needs    []wire.Need       `json:"needs,omitempty"`
	Made     []json.RawMessage `json:"made,omitempty"` // one for each need
}

// ZygoteEvents is what a zygote tells; the methods run on its goroutines.
type ZygoteEvents interface {
	Ready() // it has imported its modules, so its forks are quick
	Forked(token string, pid, pidfd int)
	Exited(pid, status int)
	Failed(token, message string) // one order came to nothing
	Noted(text string)            // for the user
	Late()                        // ImportLimit is over, and it is not ready
	Gone(message string)          // it has ended, and forks nothing more
}

// MaxOrders is how many forks a zygote can owe.
const MaxOrders = 512

// ForkOrder asks for one worker, which shows the token when it says hello. The
// zygote closes the descriptors of an order that it takes.
type ForkOrder struct {
	Token          string
	Stdout, Stderr int
}

// jobVar marks every process of a job: the zygote gets the variable, and its workers and
// the processes that these start inherit it.
const jobVar = "EAGLERAY_JOB_ID"

// sessionVar marks every process of a session in the same way: by the name of its
// folder. When the daemon is killed that is how what it started is found.
const sessionVar = "EAGLERAY_SESSION_MARK"

// Zygote is one fork server. Two goroutines serve it: Run starts the process
// and sends orders, read receives.
type Zygote struct {
	spec   *wire.EnvSpec
	job    ids.Job
	sock   string
	events ZygoteEvents
	logDir string
	place  Place             // nil: all that the environment names is here
	node   map[string]string // variables of the node

	provide Provide // nil: environments need nothing that is made here

	orders chan ForkOrder
	stop   chan struct{}
	over   chan struct{} // closed when nothing more will be heard from it
	once   sync.Once
	why    string // set before stop is closed

	self int // its pidfd, -1 when there is none; run's own

	mu   sync.Mutex
	conn *net.UnixConn
	pid  int
	tail tail // what it last wrote
	dead bool
	made *Provided // nil: nothing was made
}

// locked calls f with the lock held. The lock is released also when f panics.
func (z *Zygote) locked(f func()) {
	z.mu.Lock()
	defer z.mu.Unlock()
	f()
}

// NewZygote returns the fork server of a job's environment. Its workers connect
// to sock; what it writes goes to a file in logDir.
func NewZygote(spec *wire.EnvSpec, job ids.Job, sock, logDir string, ev ZygoteEvents) *Zygote {
	return &Zygote{
		spec: spec, job: job, sock: sock, events: ev, logDir: logDir,
		orders: make(chan ForkOrder, MaxOrders), self: -1,
		stop: make(chan struct{}), over: make(chan struct{}),
	}
}

// Fork queues an order. It never blocks; false when the queue is full or the
// zygote is closed, and the caller keeps the descriptors.
func (z *Zygote) Fork(o ForkOrder) bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.dead {
		return false
	}
	select {
	case z.orders <- o:
		return true
	default:
		return false
	}
}

// Close ends the zygote: it exits when its socket closes.
func (z *Zygote) Close(why string) {
	z.once.Do(func() {
		z.why = why
		close(z.stop)
	})
}

// Run starts the process and serves orders until the zygote or the daemon ends.
func (z *Zygote) Run(r *Reaper) {
	var message string
	var conn *net.UnixConn
	err := z.placed()
	if err == nil {
		conn, err = z.start(r)
	}
	defer z.ensureEnd()
	if err != nil {
		message = err.Error()
	} else {
		z.locked(func() { z.conn = conn })
		gone := make(chan string, 1)
		go func() { gone <- z.read(conn) }()
		message = z.serve(conn, gone)
		conn.Close()
	}
	text := ""
	z.locked(func() { z.dead, text = true, z.tail.String() })
	close(z.over)
	for {
		select {
		case o := <-z.orders:
			o.Close()
			continue
		default:
		}
		break
	}
	if text != "" {
		message += "; it last wrote:\n" + text
	}
	z.events.Gone(message)
}

// Close closes the descriptors of an order that no zygote has taken.
func (o ForkOrder) Close() {
	unix.Close(o.Stdout)
	unix.Close(o.Stderr)
}

func (z *Zygote) serve(conn *net.UnixConn, gone <-chan string) string {
	// Orders sent before it is ready wait in its socket.
	late := time.AfterFunc(startLimit(z.spec), func() { z.events.Late() })
	defer late.Stop()
	for {
		select {
		case <-z.stop:
			z.dismiss(conn)
			return z.why
		case m := <-gone:
			return m
		case o := <-z.orders:
			b, err := json.Marshal(zygotePacket{Op: "fork", Token: o.Token, Sock: z.sock})
			if err == nil {
				_, _, err = conn.WriteMsgUnix(b, unix.UnixRights(o.Stdout, o.Stderr), nil)
			}
			o.Close()
			if errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, os.ErrDeadlineExceeded) {
				continue // it has ended, or was given up: what it owes is seen to when that is told
			}
			if err != nil {
				z.events.Failed(o.Token, fmt.Sprintf("fork order: %v", err))
			}
		}
	}
}

// start runs the interpreter and sends the setup.
func (z *Zygote) start(r *Reaper) (*net.UnixConn, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("zygote socket: %w", err)
	}
	defer unix.Close(pair[1])
	ours := os.NewFile(uintptr(pair[0]), "zygote")
	nc, err := net.FileConn(ours)
	ours.Close()
	if err != nil {
		return nil, fmt.Errorf("zygote socket: %w", err)
	}
	conn := nc.(*net.UnixConn)
	if err := z.exec(r, pair[1]); err != nil {
		conn.Close()
		return nil, err
	}
	if err := z.setup(conn); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// exec starts the interpreter with end as its descriptor 3.
func (z *Zygote) exec(r *Reaper, end int) error {
	out, err := newPipe()
	if err != nil {
		return err
	}
	defer unix.Close(out.w)
	null, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		unix.Close(out.r)
		return fmt.Errorf("open /dev/null: %w", err)
	}
	defer unix.Close(null)
	pid, err := z.fork(r, z.environment(), []uintptr{uintptr(null), uintptr(out.w), uintptr(out.w), uintptr(end)})
	if err != nil {
		unix.Close(out.r)
		return fmt.Errorf("start %s %s: %w", programKind(z.spec), z.command()[0], err)
	}
	return readPipe(out.r, func(b []byte) bool {
		z.locked(func() { z.tail.add(b) })
		appendFile(z.logDir+fmt.Sprintf("/zygote-%d.log", pid), b)
		return false
	}, nil, nil)
}

// fork starts the interpreter's process with these descriptors. The reaper collects nothing
// until the process id is known.
func (z *Zygote) fork(r *Reaper, env []string, files []uintptr) (pid int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pidfd := -1
	command := z.command()
	pid, err = syscall.ForkExec(command[0], command, &syscall.ProcAttr{
		Env:   env,
		Files: files,
		Dir:   "/", // `python -m` would import what lies in the user's folder
		Sys:   &syscall.SysProcAttr{Setsid: true, PidFD: &pidfd},
	})
	if err == nil {
		z.self = pidfd
		Unspare(pid)
		_ = mayDump(pid) // it fails when the process has ended
		z.locked(func() { z.pid = pid })
	}
	return pid, err
}

// setup sends what the zygote needs before its first fork.
func (z *Zygote) setup(conn *net.UnixConn) error {
	setup := zygoteSetup{
		Preload: orEmpty(z.spec.Preload), SysPath: orEmpty(z.spec.SysPath), Cwd: z.spec.Cwd,
		Env: z.spec.Env, Bare: z.spec.Bare, Packages: z.spec.Packages,
		NodeEnv: nodeEnv(z.node, z.spec),
	}
	if z.made != nil {
		setup.Python, setup.Needs, setup.Made = z.spec.Python, z.spec.Needs, z.made.Answers
	}
	b, err := json.Marshal(setup)
	if err != nil {
		return fmt.Errorf("zygote setup: %w", err)
	}
	fd, err := unix.MemfdCreate("eagleray-setup", unix.MFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("zygote setup: %w", err)
	}
	f := os.NewFile(uintptr(fd), "setup")
	defer f.Close()
	if _, err := f.Write(b); err != nil {
		return fmt.Errorf("zygote setup: %w", err)
	}
	if _, err := f.Seek(0, 0); err != nil {
		return fmt.Errorf("zygote setup: %w", err)
	}
	if _, _, err := conn.WriteMsgUnix([]byte(`{"op":"setup"}`), unix.UnixRights(fd), nil); err != nil {
		return fmt.Errorf("zygote setup: %w", err)
	}
	return nil
}

// read receives packets until the zygote is gone and says why it is.
func (z *Zygote) read(conn *net.UnixConn) string {
	buf := make([]byte, maxZygotePacket)
	oob := make([]byte, unix.CmsgSpace(4*4))
	for {
		n, on, _, _, err := conn.ReadMsgUnix(buf, oob)
		if err != nil || n == 0 {
			if errors.Is(err, net.ErrClosed) {
				return "the zygote was stopped"
			}
			// What it wrote last, and its status, are on their way.
			time.Sleep(20 * time.Millisecond)
			return endedText(z.spec)
		}
		fds := passedFDs(oob[:on])
		var p zygotePacket
		err = json.Unmarshal(buf[:n], &p)
		if (p.Op == "forked" || p.Op == "exit") && p.Pid <= 1 {
			err = fmt.Errorf("%s: process %d", p.Op, p.Pid) // a signal to that would go to everybody
		}
		if err != nil {
			closeAll(fds)
			continue
		}
		switch p.Op {
		case "ready":
			z.events.Ready()
		case "forked":
			fd := -1
			if len(fds) > 0 {
				fd, fds = fds[0], fds[1:]
			}
			z.events.Forked(p.Token, p.Pid, fd)
		case "exit":
			z.events.Exited(p.Pid, p.Status)
		case "note":
			z.events.Noted(p.Text)
		case "failed":
			z.events.Failed(p.Token, p.Error)
		}
		closeAll(fds)
	}
}

func passedFDs(oob []byte) (fds []int) {
	ms, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	for i := range ms {
		if got, err := unix.ParseUnixRights(&ms[i]); err == nil {
			fds = append(fds, got...)
		}
	}
	for _, fd := range fds {
		unix.CloseOnExec(fd)
	}
	return fds
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

// maxExecVar is the size from which on a variable of the specification is not
// given to the interpreter: the kernel takes 128 KiB for one and a few MiB for all.
// The zygote sets them itself, with the others of its setup.
const maxExecVar = 16 << 10

// mergedEnv is the node's environment with the driver's and then the specification's on top, in order.
func mergedEnv(s *wire.EnvSpec, node map[string]string) []string {
	var env []string
	for k, v := range nodeEnv(node, s) {
		if _, ok := s.JobEnv[k]; !ok { // the driver's value is for the zygote's start
			env = append(env, k+"="+v)
		}
	}
	for k, v := range s.JobEnv {
		if _, ok := s.Env[k]; !ok && k != jobVar && k != sessionVar && validVar(k, v) {
			env = append(env, k+"="+v)
		}
	}
	for k, v := range s.Env {
		if k != jobVar && k != sessionVar && validVar(k, v) && len(v) < maxExecVar {
			env = append(env, k+"="+v)
		}
	}
	slices.Sort(env)
	return env
}

// validVar reports whether exec can pass the variable.
func validVar(k, v string) bool {
	return k != "" && !strings.ContainsAny(k, "=\x00") && !strings.Contains(v, "\x00")
}

func orEmpty(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
