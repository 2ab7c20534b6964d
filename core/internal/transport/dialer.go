package transport

import (
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// Dialer connects to other processes by their addresses. Only a Dialer and a Listener know
// what an address is; all other code passes it on unchanged.
type Dialer interface {
	// Dial opens a task connection, for Poller.Add. The hello goes ahead of the
	// first frame and has no answer. The descriptor of a page goes with it, unless
	// that is -1.
	Dial(addr string, h wire.Hello, page int) (fd int, err error)
	// DialControl opens a control connection, which is not started yet. Ended says what an error means.
	DialControl(addr string, h wire.Hello, handle wire.Handler, closed func(error)) (*wire.Peer, error)
}

// Ended reports whether an error of a Dialer means that the process at the address has ended: nobody listens there any
// more. After every other error the process may live. This process may lack a descriptor or memory, or the other one
// may be stopped or busy and take no connection in time. A connection that breaks while the hello is sent does not
// tell either: another attempt does.
func Ended(err error) bool {
	return errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ENOENT)
}

// UnixDialer connects to processes of this machine: an address is the path of
// the socket at which a process listens.
type UnixDialer struct {
	// Timeout bounds an attempt, for a process that is stopped takes no
	// connections; 0: wire.HelloTimeout.
	Timeout time.Duration
}

func (d UnixDialer) timeout() time.Duration {
	if d.Timeout > 0 {
		return d.Timeout
	}
	return wire.HelloTimeout
}

// Dial implements Dialer.
func (d UnixDialer) Dial(addr string, h wire.Hello, page int) (int, error) {
	b, err := wire.AppendMessage(nil, wire.Request, wire.THello, 1, 0, h)
	if err != nil {
		return -1, err
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("connect to %s: %w", addr, err)
	}
	if err := d.introduce(fd, addr, b, page); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("connect to %s: %w", addr, err)
	}
	return fd, nil
}

// introduce connects the socket and sends the hello.
func (d UnixDialer) introduce(fd int, addr string, hello []byte, page int) error {
	limit := unix.NsecToTimeval(int64(d.timeout())) // for connect, too; it means nothing once the socket is non-blocking
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit); err != nil {
		return err
	}
	var err error
	for {
		if err = unix.Connect(fd, &unix.SockaddrUnix{Name: addr}); err != unix.EINTR {
			break
		}
	}
	if err == nil {
		var rights []byte
		if page >= 0 {
			rights = unix.UnixRights(page)
		}
		err = unix.Sendmsg(fd, hello, rights, nil, 0)
	}
	if errors.Is(err, unix.EAGAIN) {
		err = fmt.Errorf("it took no connection within %v: %w", d.timeout(), err)
	}
	return err
}

// DialControl implements Dialer.
func (d UnixDialer) DialControl(addr string, h wire.Hello, handle wire.Handler, closed func(error)) (*wire.Peer, error) {
	conn, err := net.DialTimeout("unix", addr, d.timeout())
	if err != nil {
		return nil, unlessGone(addr, err)
	}
	b, err := wire.AppendMessage(nil, wire.Request, wire.THello, 1, 0, h)
	if err == nil {
		err = conn.SetWriteDeadline(time.Now().Add(d.timeout()))
	}
	if err == nil {
		_, err = conn.Write(b)
	}
	if err == nil {
		err = conn.SetWriteDeadline(time.Time{})
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("connect to %s: %w", addr, unlessGone(addr, err))
	}
	return wire.NewPeer(conn, handle, closed), nil
}

// unlessGone returns why an attempt to connect failed. The daemon removes the socket of a process that has ended. That
// shows even when this process can make no socket of its own to try with.
func unlessGone(addr string, err error) error {
	if !Ended(err) && unix.Access(addr, unix.F_OK) == unix.ENOENT {
		return fmt.Errorf("%w, and the socket of the process is gone: %w", err, unix.ENOENT)
	}
	return err
}
