package direct

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Socket is what a Conn can be made of: *net.TCPConn and *net.UnixConn.
type Socket interface {
	net.Conn
	syscall.Conn
}

// Conn is a connected stream socket. One goroutine at a time may read.
type Conn struct {
	local, remote net.Addr
	reader        reader

	writer sync.Mutex // held by Write; guards the next three
	try    attempt
	lazy   bool   // what the kernel does not take is kept in rest
	rest   []byte // written, and not given to the kernel

	mu      sync.Mutex
	polled  Socket          // with Go's poller; nil: own is in use
	raw     syscall.RawConn // of polled
	own     int             // the descriptor with which the reader waits in poll
	users   int             // calls that use own
	settled bool
	closed  bool
}

// New makes a Conn of a connection, which belongs to the Conn from now on.
func New(s Socket) (*Conn, error) {
	raw, err := s.SyscallConn()
	if err != nil {
		return nil, err
	}
	return &Conn{local: s.LocalAddr(), remote: s.RemoteAddr(), polled: s, raw: raw}, nil
}

// Settle says that no deadline will be set any more: from now on the reader may get a thread.
func (c *Conn) Settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settled = true
}

// use calls a function with the descriptor, unless the Conn is closed.
func (c *Conn) use(call func(fd int)) error {
	for {
		raw, own, err := c.enter()
		if err != nil {
			return err
		}
		if raw == nil {
			defer c.leave()
			call(own)
			return nil
		}
		err = raw.Control(func(fd uintptr) { call(int(fd)) })
		if !errors.Is(err, net.ErrClosed) {
			return err
		}
		// the Conn is closed, or its reader has got a thread in this moment
	}
}

// enter begins a call: with Go's poller if raw is not nil, and else with a descriptor that stays until leave.
func (c *Conn) enter() (raw syscall.RawConn, own int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, -1, net.ErrClosed
	}
	if c.polled != nil {
		return c.raw, -1, nil
	}
	c.users++
	return nil, c.own, nil
}

func (c *Conn) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users--
	c.release()
}

// release closes a descriptor that nobody uses any more; c.mu is held.
func (c *Conn) release() {
	if c.closed && c.polled == nil && c.users == 0 {
		unix.Close(c.own)
		giveThread()
	}
}

// Write implements io.Writer. After Lazily(true) it does not wait.
func (c *Conn) Write(b []byte) (int, error) {
	c.writer.Lock()
	defer c.writer.Unlock()
	if !c.lazy && len(c.rest) > 0 {
		rest := c.rest
		c.rest = nil
		if _, err := c.push(rest); err != nil {
			return 0, err
		}
	}
	done := 0
	if len(c.rest) == 0 {
		var err error
		if done, err = c.push(b); err != nil {
			return done, err
		}
	}
	c.rest = append(c.rest, b[done:]...) // nothing, unless it is lazy
	return len(b), nil
}

// push gives all bytes to the kernel, or what the kernel takes now if the writer is lazy; c.writer is held, so the descriptor stays.
func (c *Conn) push(b []byte) (done int, err error) {
	if len(b) == 0 {
		return 0, nil
	}
	raw, own, err := c.enter()
	if err != nil {
		return 0, err
	}
	if raw == nil {
		defer c.leave()
		return c.pushTo(own, b)
	}
	try := &c.try
	*try = attempt{b: b, call: try.call}
	if try.call == nil {
		try.call = c.sends
	}
	err = raw.Write(try.call)
	try.b = nil
	if err == nil && try.err != nil && try.err != unix.EAGAIN {
		err = os.NewSyscallError("send", try.err)
	}
	return try.n, err
}

// sends is a call of send by Go's poller; c.writer is held.
func (c *Conn) sends(fd uintptr) bool {
	a := &c.try
	for a.err = nil; a.err == nil && a.n < len(a.b); {
		var n int
		n, a.err = send(int(fd), a.b[a.n:])
		a.n += n
	}
	return a.err != unix.EAGAIN || c.lazy
}

// pushTo is push to a descriptor of our own.
func (c *Conn) pushTo(fd int, b []byte) (done int, err error) {
	for done < len(b) {
		n, err := send(fd, b[done:])
		done += n
		switch {
		case err == unix.EAGAIN && c.lazy:
			return done, nil
		case err == unix.EAGAIN:
			if err := waits(fd, unix.POLLOUT); err != nil && err != unix.EAGAIN {
				return done, err
			}
		case err != nil:
			return done, os.NewSyscallError("send", err)
		}
	}
	return done, nil
}

func send(fd int, b []byte) (int, error) {
	for {
		n, err := unix.SendmsgN(fd, b, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

// waits waits for an event, for quietTime at most; then the error is EAGAIN.
func waits(fd int, event int16) error {
	p := [...]unix.PollFd{{Fd: int32(fd), Events: event}}
	switch n, err := unix.Poll(p[:], int(quietTime.Milliseconds())); {
	case err == unix.EINTR:
		return nil
	case err != nil:
		return os.NewSyscallError("poll", err)
	case n == 0:
		return unix.EAGAIN
	}
	return nil
}

// Lazily says whether Write may leave bytes for a later call, in place of waiting. It reports whether bytes are left: a later Write that is
// not lazy gives them to the kernel first, also one of no bytes. It waits while a Write does.
func (c *Conn) Lazily(lazy bool) (left bool) {
	c.writer.Lock()
	defer c.writer.Unlock()
	c.lazy = lazy
	return len(c.rest) > 0
}

// TryWrite writes as much as the kernel takes now. Errors show at the next Write. The caller sees to it that no Write is under way.
func (c *Conn) TryWrite(b []byte) (n int) {
	_ = c.use(func(fd int) { n, _ = send(fd, b) })
	return n
}

// Shutdown ends both directions. What has arrived can still be read.
func (c *Conn) Shutdown() {
	_ = c.use(func(fd int) { _ = unix.Shutdown(fd, unix.SHUT_RDWR) }) // it fails only when the Conn is closed, or the other end has gone
}

// Close ends all calls.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	c.closed = true
	if c.polled != nil {
		return c.polled.Close()
	}
	if c.users > 0 {
		_ = unix.Shutdown(c.own, unix.SHUT_RDWR) // ends what waits in poll; the last call closes
	}
	c.release()
	return nil
}

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements net.Conn. It fails after Settle.
func (c *Conn) SetDeadline(t time.Time) error { return c.deadline(Socket.SetDeadline, t) }

// SetReadDeadline implements net.Conn. It fails after Settle.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.deadline(Socket.SetReadDeadline, t) }

// SetWriteDeadline implements net.Conn. It fails after Settle.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.deadline(Socket.SetWriteDeadline, t) }

func (c *Conn) deadline(set func(Socket, time.Time) error, t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return net.ErrClosed
	case c.settled:
		return os.ErrNoDeadline
	}
	return set(c.polled, t)
}

// ends returns why nothing more comes.
func (c *Conn) ends() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	return io.EOF
}

// duplicate returns another descriptor of the same socket.
func duplicate(raw syscall.RawConn) (fd int, err error) {
	var bad error
	err = raw.Control(func(old uintptr) { fd, bad = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0) })
	return fd, errors.Join(err, bad)
}
