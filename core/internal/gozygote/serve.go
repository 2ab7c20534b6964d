package gozygote

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// maxPacket caps a packet from the daemon.
const maxPacket = 64 << 10

// lastWords is how long workers may take to end when their daemon is gone.
const lastWords = time.Second

// packet is one packet in either direction; see docs/protocol.md.
type packet struct {
	Op     string `json:"op"`
	Token  string `json:"token,omitempty"`
	Sock   string `json:"sock,omitempty"`
	Pid    int    `json:"pid,omitempty"`
	Status int    `json:"status,omitempty"`
	Error  string `json:"error,omitempty"`
}

// zygote starts the workers of one environment.
type zygote struct {
	conn   *net.UnixConn
	setup  Setup
	own    map[string]string // this process's variables
	env    []string          // a worker's
	args   []string
	starts func(z *zygote, stdout, stderr, start int) (pid, pidfd int, err error)

	mu      sync.Mutex
	workers map[int]bool  // those that live
	empty   chan struct{} // closed when none lives any more; nil while nobody waits for that
}

// Serve starts workers until the daemon says that it is enough, or is gone.
func Serve() error {
	Name("eagleray-zygote")
	f := os.NewFile(channel, "zygote")
	if f == nil {
		return fmt.Errorf("descriptor %d is not open", channel)
	}
	nc, err := net.FileConn(f)
	f.Close()
	if err != nil {
		return fmt.Errorf("descriptor %d: %w", channel, err)
	}
	conn, ok := nc.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("descriptor %d is no Unix socket", channel)
	}
	z := &zygote{conn: conn, own: variables(os.Environ()), args: os.Args, starts: (*zygote).exec, workers: map[int]bool{}}
	return z.serve()
}

func (z *zygote) serve() error {
	if err := z.begin(); err != nil {
		return err
	}
	for {
		p, fds, err := z.receive()
		switch {
		case err != nil: // the daemon is gone
			closeAll(fds)
			z.killAll()
			return nil
		case p.Op == "end":
			closeAll(fds)
			return nil
		case p.Op == "fork" && len(fds) == 2:
			if err := z.fork(&p, fds[0], fds[1]); err != nil {
				z.send(&packet{Op: "failed", Token: p.Token, Error: err.Error()}, -1)
			}
		}
		closeAll(fds)
	}
}

// begin reads the setup and says that orders may come.
func (z *zygote) begin() error {
	p, fds, err := z.receive()
	defer closeAll(fds)
	if err != nil {
		return fmt.Errorf("the setup of this zygote: %w", err)
	}
	if p.Op != "setup" || len(fds) != 1 {
		return fmt.Errorf("the daemon began with %q and %d descriptors, not with a setup", p.Op, len(fds))
	}
	fd, err := unix.FcntlInt(uintptr(fds[0]), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("the setup of this zygote: %w", err)
	}
	f := os.NewFile(uintptr(fd), "setup")
	defer f.Close()
	b, err := readAll(f)
	if err == nil {
		err = json.Unmarshal(b, &z.setup)
	}
	if err != nil {
		return fmt.Errorf("the setup of this zygote: %w", err)
	}
	all := seen(z.own, &z.setup)
	all[wire.GoWorkerVar] = RoleWorker
	for k, v := range all {
		z.env = append(z.env, k+"="+v)
	}
	if z.setup.Cwd != "" {
		if err := os.Chdir(z.setup.Cwd); err != nil {
			fmt.Fprintf(os.Stderr, "the folder %q of this environment cannot be entered: %v\n", z.setup.Cwd, err)
		}
	}
	z.send(&packet{Op: "ready"}, -1)
	return nil
}

// receive reads one packet with the descriptors that came along. It fails when the daemon is gone.
func (z *zygote) receive() (p packet, fds []int, err error) {
	buf, oob := make([]byte, maxPacket), make([]byte, unix.CmsgSpace(4*4))
	n, on, _, _, err := z.conn.ReadMsgUnix(buf, oob)
	if on > 0 {
		if ms, bad := unix.ParseSocketControlMessage(oob[:on]); bad == nil {
			for i := range ms {
				if got, bad := unix.ParseUnixRights(&ms[i]); bad == nil {
					fds = append(fds, got...)
				}
			}
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
		}
	}
	if err != nil {
		return p, fds, err
	}
	if n == 0 {
		return p, fds, errors.New("the daemon has closed the socket")
	}
	if err := json.Unmarshal(buf[:n], &p); err != nil {
		return packet{Op: "unknown"}, fds, nil // of a later release
	}
	return p, fds, nil
}

// send tells the daemon. A negative fd means none. When the daemon is gone, the next receive says so.
func (z *zygote) send(p *packet, fd int) {
	b, err := json.Marshal(p)
	if err != nil {
		return
	}
	var rights []byte
	if fd >= 0 {
		rights = unix.UnixRights(fd)
	}
	_, _, _ = z.conn.WriteMsgUnix(b, rights, nil)
}

// fork starts one worker.
func (z *zygote) fork(p *packet, stdout, stderr int) error {
	start, err := z.start(p)
	if err != nil {
		return err
	}
	defer unix.Close(start)
	pid, pidfd, err := z.starts(z, stdout, stderr, start)
	if err != nil {
		return fmt.Errorf("start another process of the Go worker program: %w", err)
	}
	z.note(pid)
	z.send(&packet{Op: "forked", Token: p.Token, Pid: pid}, pidfd)
	go z.await(pid, pidfd)
	return nil
}

func (z *zygote) note(pid int) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.workers[pid] = true
}

// start returns a memfd with what the worker reads.
func (z *zygote) start(p *packet) (fd int, err error) {
	b, err := json.Marshal(Start{Sock: p.Sock, Token: p.Token, Setup: z.setup, JobEnv: z.own})
	if err != nil {
		return -1, err
	}
	if fd, err = unix.MemfdCreate("eagleray-start", unix.MFD_CLOEXEC); err != nil {
		return -1, fmt.Errorf("memfd: %w", err)
	}
	for len(b) > 0 {
		n, err := unix.Write(fd, b)
		if err != nil {
			unix.Close(fd)
			return -1, fmt.Errorf("write to a memfd: %w", err)
		}
		b = b[n:]
	}
	return fd, nil
}

// exec starts this process's program again.
func (z *zygote) exec(stdout, stderr, start int) (pid, pidfd int, err error) {
	null, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, -1, fmt.Errorf("open %s: %w", os.DevNull, err)
	}
	defer unix.Close(null)
	pidfd = -1
	pid, err = syscall.ForkExec("/proc/self/exe", z.args, &syscall.ProcAttr{
		Env:   z.env,
		Files: []uintptr{uintptr(null), uintptr(stdout), uintptr(stderr), uintptr(start)},
		Sys:   &syscall.SysProcAttr{Setsid: true, PidFD: &pidfd},
	})
	return pid, pidfd, err
}

// await collects a worker and tells the daemon how it has ended.
func (z *zygote) await(pid, pidfd int) {
	if err := awaitEnd(pidfd); err != nil {
		fmt.Fprintf(os.Stderr, "the pidfd of worker %d: %v\n", pid, err)
		return
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	var ws unix.WaitStatus
	for {
		if _, err := unix.Wait4(pid, &ws, 0, nil); err != unix.EINTR {
			break
		}
	}
	delete(z.workers, pid)
	if z.empty != nil && len(z.workers) == 0 {
		close(z.empty)
		z.empty = nil
	}
	status := ws.ExitStatus()
	if ws.Signaled() {
		status = -int(ws.Signal())
	}
	z.send(&packet{Op: "exit", Pid: pid, Status: status}, -1)
}

// awaitEnd takes over a pidfd and waits for the end of its process, without a thread of its own.
func awaitEnd(pidfd int) error {
	if err := unix.SetNonblock(pidfd, true); err != nil {
		unix.Close(pidfd)
		return err
	}
	f := os.NewFile(uintptr(pidfd), "pidfd")
	defer f.Close()
	rc, err := f.SyscallConn()
	if err != nil {
		return err
	}
	return rc.Read(func(fd uintptr) bool { // readable when the process has ended; there is nothing to read
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		return n > 0 || err != nil && err != unix.EINTR
	})
}

// killAll ends the workers whose daemon is gone and that do not end by themselves.
func (z *zygote) killAll() {
	empty := z.emptied()
	select {
	case <-empty:
		return
	case <-time.After(lastWords):
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	for pid := range z.workers { // not collected yet, so the number is still its own
		_ = unix.Kill(-pid, unix.SIGKILL) // its session's group
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// emptied returns a channel that is closed when no worker lives.
func (z *zygote) emptied() <-chan struct{} {
	z.mu.Lock()
	defer z.mu.Unlock()
	empty := make(chan struct{})
	if len(z.workers) == 0 {
		close(empty)
		return empty
	}
	z.empty = empty
	return empty
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}
