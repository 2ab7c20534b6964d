package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
)

// HelloTimeout bounds the handshake.
const HelloTimeout = 5 * time.Second

// Dial connects to a daemon's socket, introduces the caller and returns the
// connection, the daemon's answer and the arena's descriptor (-1 if none came).
func Dial(path string, h Hello) (*net.UnixConn, *HelloReply, int, error) {
	return DialContext(context.Background(), path, h)
}

// DialContext is Dial until a context ends.
func DialContext(ctx context.Context, path string, h Hello) (*net.UnixConn, *HelloReply, int, error) {
	return dial(ctx, path, nil, h)
}

// dial connects to a daemon's socket, sends what stands before the hello, and introduces the caller.
func dial(ctx context.Context, path string, before []byte, h Hello) (*net.UnixConn, *HelloReply, int, error) {
	d := net.Dialer{Timeout: HelloTimeout}
	c, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, nil, -1, ended(ctx, err)
	}
	u := c.(*net.UnixConn)
	if err := CheckPeer(u); err != nil { // before anything is said, a program's variables for example
		u.Close()
		return nil, nil, -1, fmt.Errorf("connect to %s: %w", path, err)
	}
	stop := context.AfterFunc(ctx, func() { u.Close() })
	r, fd, err := introduce(u, before, h)
	if !stop() && err == nil { // the connection was closed behind the answer
		if fd >= 0 {
			unix.Close(fd)
		}
		fd, err = -1, ctx.Err()
	}
	if err != nil {
		u.Close()
		return nil, nil, fd, ended(ctx, err)
	}
	return u, r, fd, nil
}

// ended returns why an attempt failed: the context's reason when it has ended.
func ended(ctx context.Context, err error) error {
	if why := ctx.Err(); why != nil {
		return why
	}
	return err
}

// Introduce sends the hello on a fresh connection and reads the answer.
func Introduce(u *net.UnixConn, h Hello) (*HelloReply, int, error) { return introduce(u, nil, h) }

// introduce is Introduce with something that stands before the hello.
func introduce(u *net.UnixConn, before []byte, h Hello) (*HelloReply, int, error) {
	if err := u.SetDeadline(time.Now().Add(HelloTimeout)); err != nil {
		return nil, -1, err
	}
	b, err := AppendMessage(before, Request, THello, 1, 0, h)
	if err != nil {
		return nil, -1, err
	}
	if _, err := u.Write(b); err != nil {
		return nil, -1, err
	}
	payload, fd, err := readWithFD(u, MaxControl) // the daemon's: its totals may have thousands of names
	if err != nil {
		if fd >= 0 {
			unix.Close(fd)
		}
		return nil, -1, fmt.Errorf("handshake with the daemon: %w", err)
	}
	m, err := ParseMessage(payload)
	if err != nil {
		return nil, fd, err
	}
	if m.Kind == Failure {
		f := new(fault.Error)
		if err := m.Decode(f); err != nil {
			return nil, fd, err
		}
		return nil, fd, f
	}
	r := new(HelloReply)
	if err := m.Decode(r); err != nil {
		return nil, fd, err
	}
	return r, fd, u.SetDeadline(time.Time{})
}

// AppendReach appends what a process says to its own daemon to reach a process of another node,
// or the daemon there. The hello to the target follows right behind it.
func AppendReach(dst []byte, target ids.Owner) ([]byte, error) {
	return AppendMessage(dst, Request, THello, 1, 0, Hello{Version: Version, Role: RoleReach, OwnerID: target[:]})
}

// DialGuest connects to the daemon of another node, through the socket of the caller's own
// daemon, and says as which process of this node it comes. It returns the other daemon's answer.
func DialGuest(ctx context.Context, path string, node uint32, h Hello) (*net.UnixConn, *HelloReply, error) {
	reach, err := AppendReach(nil, ids.DaemonOn(node))
	if err != nil {
		return nil, nil, err
	}
	u, r, fd, err := dial(ctx, path, reach, h)
	if fd >= 0 { // a descriptor cannot come from another node
		unix.Close(fd)
	}
	return u, r, err
}

// ReadHello reads the first message of an accepted connection. The peer's
// uid must be ours.
func ReadHello(u *net.UnixConn) (*Hello, error) {
	h, fd, err := ReadHelloFD(u)
	if fd >= 0 {
		unix.Close(fd)
	}
	return h, err
}

// ReadHelloFD is ReadHello with the descriptor that came along, -1 for none,
// which is the caller's to close, also after an error.
func ReadHelloFD(u *net.UnixConn) (*Hello, int, error) {
	if err := CheckPeer(u); err != nil {
		return nil, -1, err
	}
	if err := u.SetReadDeadline(time.Now().Add(HelloTimeout)); err != nil {
		return nil, -1, err
	}
	payload, fd, err := readWithFD(u, MaxHandshake)
	if err != nil {
		return nil, fd, err
	}
	h, err := parseHello(payload)
	if err != nil {
		return nil, fd, err
	}
	return h, fd, u.SetReadDeadline(time.Time{})
}

// ReadRelayedHello reads the hello with which a stream from another node begins. The daemon of
// that node has read it from its process in time, and has sent it on. So there is no time limit
// here: a connection between two nodes may break and come back while the hello is on its way.
func ReadRelayedHello(c net.Conn) (*Hello, error) {
	var h [4]byte
	if _, err := io.ReadFull(c, h[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(h[:])
	if n > MaxHandshake {
		return nil, fmt.Errorf("hello: %w: %d bytes", ErrFrameTooLarge, n)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(c, b); err != nil {
		return nil, err
	}
	return parseHello(b)
}

// parseHello reads the payload of the first frame of a connection.
func parseHello(payload []byte) (*Hello, error) {
	m, err := ParseMessage(payload)
	if err != nil {
		return nil, err
	}
	if m.Type != THello || m.Kind != Request {
		return nil, fmt.Errorf("%w: first message is %s", ErrBadFrame, m.Type)
	}
	h := new(Hello)
	return h, m.Decode(h)
}

// SendHelloReply answers a hello, with a descriptor unless fd is -1.
func SendHelloReply(u *net.UnixConn, r HelloReply, fd int) error {
	b, err := AppendMessage(nil, Reply, THello, 1, 0, r)
	if err != nil {
		return err
	}
	var oob []byte
	if fd >= 0 {
		oob = unix.UnixRights(fd)
	}
	if err := u.SetWriteDeadline(time.Now().Add(HelloTimeout)); err != nil {
		return err
	}
	n, _, err := u.WriteMsgUnix(b, oob, nil)
	if err == nil && n < len(b) { // it is larger than the socket's buffer
		_, err = u.Write(b[n:])
	}
	return errors.Join(err, u.SetWriteDeadline(time.Time{}))
}

// AnswerGuest answers the hello of a process of another node.
func AnswerGuest(c net.Conn, r HelloReply) error {
	b, err := AppendMessage(nil, Reply, THello, 1, 0, r)
	if err == nil {
		_, err = c.Write(b)
	}
	return err
}

// RefuseHello answers a hello with a fault.
func RefuseHello(u net.Conn, cause error) error {
	b, err := AppendMessage(nil, Failure, THello, 1, 0, fault.From(cause))
	if err != nil {
		return err
	}
	_, err = u.Write(b)
	return err
}

// ErrOtherUser is wrapped by the errors for a process at the other end of a Unix socket that belongs to another user.
var ErrOtherUser = errors.New("the process at the other end belongs to another user")

// CheckPeer returns an error unless the process at the other end of a Unix socket belongs to this user or to root. At the end that has
// dialed, the process is the one that listens at the socket.
func CheckPeer(u *net.UnixConn) error {
	rc, err := u.SyscallConn()
	if err != nil {
		return err
	}
	var e error
	if err := rc.Control(func(fd uintptr) { e = CheckPeerFD(int(fd)) }); err != nil {
		return err
	}
	return e
}

// CheckPeerFD is CheckPeer for the descriptor of a socket.
func CheckPeerFD(fd int) error {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return fmt.Errorf("ask who is at the other end: %w", err)
	}
	return checkUser(int(cred.Uid), unix.Getuid())
}

// checkUser lets in the session's user, me, and root.
func checkUser(uid, me int) error {
	if uid != me && uid != 0 {
		return fmt.Errorf("%w: peer has uid %d, this session belongs to %d", ErrOtherUser, uid, me)
	}
	return nil
}

// readWithFD reads exactly one frame of at most limit bytes and at most one passed descriptor.
func readWithFD(u *net.UnixConn, limit uint32) ([]byte, int, error) {
	fd := -1
	read := func(b []byte) error {
		oob := make([]byte, unix.CmsgSpace(4))
		for len(b) > 0 {
			n, on, _, _, err := u.ReadMsgUnix(b, oob)
			if err != nil {
				return err
			}
			if on > 0 {
				if got := parseFD(oob[:on]); got >= 0 {
					if fd >= 0 {
						unix.Close(fd)
					}
					fd = got
				}
			}
			if n == 0 {
				return ErrPeerClosed
			}
			b = b[n:]
		}
		return nil
	}
	var h [4]byte
	if err := read(h[:]); err != nil {
		return nil, fd, err
	}
	n := binary.LittleEndian.Uint32(h[:])
	if n > limit {
		return nil, fd, fmt.Errorf("hello: %w: %d bytes", ErrFrameTooLarge, n)
	}
	b := make([]byte, n)
	err := read(b)
	return b, fd, err
}

// parseFD returns the first descriptor of a control message, -1 if there is none.
func parseFD(oob []byte) int {
	got := -1
	for i, fd := range parseFDs(oob) {
		if i > 0 {
			unix.Close(fd)
			continue
		}
		unix.CloseOnExec(fd)
		got = fd
	}
	return got
}
