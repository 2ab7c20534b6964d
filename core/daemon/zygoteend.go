package daemon

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// zygoteGrace is what a zygote gets to end by itself: one that is stopped, or
// hangs in a module that it imports, does not.
const zygoteGrace = 2 * time.Second

// dismiss tells the zygote that it is to end. One whose socket closes without
// that has lost its daemon, and ends all that it finds of the session.
func (z *zygote) dismiss(conn *net.UnixConn) {
	_ = conn.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
	_, _ = conn.Write([]byte(`{"op":"end"}`))
}

// ensureEnd kills the process if it does not end.
func (z *zygote) ensureEnd() {
	fd := z.self
	if z.self = -1; fd < 0 {
		return
	}
	go func() {
		defer unix.Close(fd)
		ps := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		for end := time.Now().Add(zygoteGrace); ; {
			n, err := unix.Poll(ps, int(max(time.Until(end).Milliseconds(), 0)))
			if err == unix.EINTR {
				continue
			}
			if n == 0 {
				_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
			}
			return
		}
	}()
}

// forkLate gives a zygote up that has not answered an order: it is stopped, or
// hangs. What it owes is ordered from another one when it is gone.
func (d *Daemon) forkLate(w *worker, z *zygote) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if w.state != stateStarting || w.zygote != z || w.pid != 0 || !w.ordered || d.closing {
		return
	}
	d.log.Warn("a zygote does not answer: another one takes its place", "env", w.env)
	d.dropZygote(z)
	z.close("the zygote (the process that forks workers) did not answer")
	z.unblock()
}

// unblock ends a write that waits for the zygote to read.
func (z *zygote) unblock() {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.conn != nil {
		_ = z.conn.SetWriteDeadline(time.Now())
	}
}

// zygoteReaped notes how a zygote ended, if the process was one; mu held.
func (d *Daemon) zygoteReaped(pid, status int) {
	for _, z := range d.zygotes {
		if z.process() == pid {
			z.killed = status < 0
			return
		}
	}
}

func (z *zygote) process() int {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.pid
}
