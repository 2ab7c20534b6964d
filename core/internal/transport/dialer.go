package transport

import (
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// Dialer connects to other processes by their addresses. Only a Dialer knows where an address
// leads; all other code passes it on unchanged.
type Dialer interface {
	// Dial opens a task connection, for Poller.Add. The hello goes ahead of the
	// first frame and has no answer. The descriptor of a page goes with it, unless
	// that is -1.
	Dial(addr string, h wire.Hello, page int) (fd int, err error)
	// DialControl opens a control connection, which is not started yet. Ended says what an error means.
	DialControl(addr string, h wire.Hello, handle wire.Handler, closed func(error)) (*wire.Peer, error)
}

// Ended reports whether an error of a Dialer means that the process at the address has ended (nobody listens there any
// more), or that no process of this session can be reached there. After every other error the process may live. This process may lack a
// descriptor or memory, or the other one may be stopped or busy and take no connection in time. A connection that breaks
// while the hello is sent does not tell either: another attempt does.
func Ended(err error) bool {
	return errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ENOENT) || errors.Is(err, errNowhere) || errors.Is(err, wire.ErrOtherUser)
}

// errNowhere is wrapped by the errors for addresses at which no process can be reached, however often it is tried.
var errNowhere = errors.New("no process can be reached there")

// UnixDialer connects to processes through Unix sockets: to those of its own node at the sockets
// at which they listen, and to those of other nodes through the socket of its own daemon, which
// makes a pipe (package pipes).
type UnixDialer struct {
	Session string // the directory of the node's session
	Node    uint32 // the node's number
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

// route returns the path of the socket that leads to a process, and what is to be sent there:
// the hello, and before it the daemon's instruction if the process is on another node. A process
// of another node can be sent no descriptor, so its begun tasks are noted on no page of the caller's.
func (d UnixDialer) route(addr string, h wire.Hello) (path string, hello []byte, far bool, err error) {
	o, err := wire.ParseAddress(addr)
	switch {
	case err != nil:
		return "", nil, false, fmt.Errorf("%w: %w", errNowhere, err)
	case o.IsDaemon():
		return "", nil, false, fmt.Errorf("%w: the address is that of a node's daemon, which takes neither tasks nor references", errNowhere)
	}
	path = wire.SocketPath(d.Session, o)
	if far = o.Node() != d.Node; far {
		h.Slot = 0
		path = wire.DaemonPath(d.Session)
		if hello, err = wire.AppendReach(nil, o); err != nil {
			return "", nil, false, err
		}
	}
	hello, err = wire.AppendMessage(hello, wire.Request, wire.THello, 1, 0, h)
	return path, hello, far, err
}

// Dial implements Dialer.
func (d UnixDialer) Dial(addr string, h wire.Hello, page int) (int, error) {
	path, hello, far, err := d.route(addr, h)
	if err != nil {
		return -1, fmt.Errorf("connect to %.100s: %w", addr, err)
	}
	if far {
		page = -1
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("connect to %s: %w", addr, err)
	}
	if err := d.introduce(fd, path, hello, page); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("connect to %s: %w", addr, err)
	}
	return fd, nil
}

// introduce connects the socket to the one at a path, and sends the hello.
func (d UnixDialer) introduce(fd int, path string, hello []byte, page int) error {
	limit := unix.NsecToTimeval(int64(d.timeout())) // for connect, too; it means nothing once the socket is non-blocking
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit); err != nil {
		return err
	}
	var err error
	for {
		if err = unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != unix.EINTR {
			break
		}
	}
	if err == nil {
		err = wire.CheckPeerFD(fd)
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
	path, hello, _, err := d.route(addr, h)
	if err != nil {
		return nil, fmt.Errorf("connect to %.100s: %w", addr, err)
	}
	conn, err := net.DialTimeout("unix", path, d.timeout())
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", addr, unlessGone(path, err))
	}
	err = wire.CheckPeer(conn.(*net.UnixConn))
	if err == nil {
		err = conn.SetWriteDeadline(time.Now().Add(d.timeout()))
	}
	if err == nil {
		_, err = conn.Write(hello)
	}
	if err == nil {
		err = conn.SetWriteDeadline(time.Time{})
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("connect to %s: %w", addr, unlessGone(path, err))
	}
	return wire.NewPeer(conn, handle, closed), nil
}

// unlessGone returns why an attempt to connect failed. The daemon removes the socket of a process that has ended. That
// shows even when this process can make no socket of its own to try with.
func unlessGone(path string, err error) error {
	if !Ended(err) && unix.Access(path, unix.F_OK) == unix.ENOENT {
		return fmt.Errorf("%w, and the socket of the process is gone: %w", err, unix.ENOENT)
	}
	return err
}
