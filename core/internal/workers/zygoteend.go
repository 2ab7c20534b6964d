package workers

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// zygoteGrace is how long a zygote may take to end by itself. A zygote that is stopped, or
// hangs in a module that it imports, does not end by itself.
const zygoteGrace = 2 * time.Second

// dismiss tells the zygote to end. A zygote whose socket closes without this message has
// lost its daemon, and ends all processes of the session that it finds.
func (z *Zygote) dismiss(conn *net.UnixConn) {
	_ = conn.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
	_, _ = conn.Write([]byte(`{"op":"end"}`))
}

// ensureEnd kills the process if it does not end.
func (z *Zygote) ensureEnd() {
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

// Unblock ends a write that waits for the zygote to read.
func (z *Zygote) Unblock() {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.conn != nil {
		_ = z.conn.SetWriteDeadline(time.Now())
	}
}

// Process returns the zygote's process id, 0 before it runs.
func (z *Zygote) Process() int {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.pid
}
