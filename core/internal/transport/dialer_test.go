package transport

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/tests/otheruser"
)

// place is where a process of the test is.
type place struct {
	addr   string
	path   string     // of its socket
	dialer UnixDialer // of a process on the same node
}

// homeNode is the number of the node of the test's processes.
const homeNode = 3

// newPlace returns the place of a process that does not listen yet.
func newPlace(t *testing.T) place {
	t.Helper()
	dir, err := os.MkdirTemp("", "er") // t.TempDir's names are too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Mkdir(filepath.Join(dir, "p"), 0o700); err != nil {
		t.Fatal(err)
	}
	o := ids.NewWorkerOn(homeNode).Owner()
	return place{addr: wire.AddressOf(o), path: wire.SocketPath(dir, o), dialer: UnixDialer{Session: dir, Node: homeNode}}
}

// listen returns the place of a process of the test and its listener.
func listen(t *testing.T) (place, *net.UnixListener) {
	t.Helper()
	at := newPlace(t)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: at.path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return at, l
}

// whoever is a hello that every process takes.
func whoever(role string) wire.Hello {
	o := ids.Owner{7}
	return wire.Hello{Version: wire.Version, Role: role, OwnerID: o[:], Addr: "its address"}
}

func TestDial_HelloAndPageComeBeforeTheFirstFrame(t *testing.T) {
	at, l := listen(t)
	page, err := unix.MemfdCreate("page", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(page) })
	fd, err := at.dialer.Dial(at.addr, whoever(wire.RoleLease), page)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	write(t, fd, []byte("frame"))
	u, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { u.Close() })
	h, got, err := wire.ReadHelloFD(u)
	if err != nil || h.Role != wire.RoleLease || h.Addr != "its address" {
		t.Fatalf("%+v, %v", h, err)
	}
	var sent, came unix.Stat_t
	if unix.Fstat(page, &sent) != nil || unix.Fstat(got, &came) != nil || sent.Ino != came.Ino {
		t.Error("another descriptor came than was sent")
	}
	unix.Close(got)
	b := make([]byte, 9)
	if n, err := u.Read(b); err != nil || string(b[:n]) != "frame" {
		t.Errorf("behind the hello: %q, %v", b[:n], err)
	}
}

func TestDial_NobodyListens_Fails(t *testing.T) {
	at, l := listen(t)
	l.Close()
	if fd, err := at.dialer.Dial(at.addr, whoever(wire.RoleLease), -1); err == nil || fd >= 0 {
		t.Errorf("descriptor %d, %v", fd, err)
	}
	if _, err := at.dialer.DialControl(at.addr, whoever(wire.RoleControl), refuse, nil); err == nil {
		t.Error("a control connection was opened to nobody")
	}
}

// A process that is stopped takes no connections. Whoever dials it must go on.
func TestDial_NobodyAccepts_EndsInTime(t *testing.T) {
	at, l := listen(t)
	rc, err := l.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := rc.Control(func(fd uintptr) { err = unix.Listen(int(fd), 0) }); err != nil {
		t.Fatal(err)
	}
	at.dialer.Timeout = 20 * time.Millisecond
	var fds []int
	t.Cleanup(func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	})
	for began := time.Now(); ; {
		fd, err := at.dialer.Dial(at.addr, whoever(wire.RoleLease), -1)
		if err != nil {
			if !errors.Is(err, unix.EAGAIN) {
				t.Errorf("it failed for another reason: %v", err)
			}
			if !strings.Contains(err.Error(), "connect to "+at.addr+": it took no connection within 20ms") {
				t.Errorf("the error does not say what happened: %v", err)
			}
			break // the queue of those that wait to be accepted is full
		}
		if fds = append(fds, fd); time.Since(began) > patience {
			t.Fatal("every connection was taken")
		}
	}
}

// What is no address of a process leads nowhere, and no path is made of it.
func TestDial_AddressLeadsNowhere_SaysWhy(t *testing.T) {
	at, l := listen(t)
	self, err := wire.ParseAddress(at.addr)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := self
	elsewhere[3]++
	for what, x := range map[string]struct{ addr, want string }{
		"another node, without a daemon": {wire.AddressOf(elsewhere), "no such file"},
		"the daemon of another node":     {wire.AddressOf(ids.DaemonOn(4)), "the address is that of a node's daemon"},
		"this node's daemon":             {wire.AddressOf(ids.DaemonOn(homeNode)), "the address is that of a node's daemon"},
		"the path at which it listens":   {at.path, "is not a process's address"},
		"its address in other letters":   {strings.ToUpper(at.addr), "is not a process's address"},
		"nothing":                        {"", "is not a process's address"},
		"a process that does not listen": {wire.AddressOf(ids.NewWorkerOn(homeNode).Owner()), "no such file"},
	} {
		fd, err := at.dialer.Dial(x.addr, whoever(wire.RoleLease), -1)
		if err == nil || fd >= 0 || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: descriptor %d, %v, want %q", what, fd, err, x.want)
		}
		if p, err := at.dialer.DialControl(x.addr, whoever(wire.RoleControl), refuse, nil); err == nil || p != nil || !strings.Contains(err.Error(), x.want) || !Ended(err) {
			t.Errorf("%s: a control connection to %q: %v, want %q, and no further attempts", what, x.addr, err, x.want)
		}
	}
	// Nothing has reached the process that listens: the first connection to it is the next one.
	fd, err := at.dialer.Dial(at.addr, whoever(wire.RoleActor), -1)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	u, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	if h, err := wire.ReadHello(u); err != nil || h.Role != wire.RoleActor {
		t.Errorf("the first connection says %+v, %v", h, err)
	}
}

// A process of another node is reached through the own daemon, which is told whom the hello behind
// is for. No page can go there.
func TestDialer_OwnerOfAnotherNode_GoesToTheDaemon(t *testing.T) {
	at := newPlace(t)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: wire.DaemonPath(at.dialer.Session), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	far := ids.NewWorkerOn(homeNode + 1).Owner()
	page, err := unix.MemfdCreate("page", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(page)
	lease := whoever(wire.RoleLease)
	lease.Slot = 9
	fd, err := at.dialer.Dial(wire.AddressOf(far), lease, page)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	write(t, fd, []byte("frame"))
	p, err := at.dialer.DialControl(wire.AddressOf(far), whoever(wire.RoleControl), refuse, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, x := range []struct{ role, behind string }{{wire.RoleLease, "frame"}, {wire.RoleControl, ""}} {
		u, err := l.AcceptUnix()
		if err != nil {
			t.Fatal(err)
		}
		defer u.Close()
		h, got, err := wire.ReadHelloFD(u)
		if err != nil || h.Role != wire.RoleReach || ids.Owner(h.OwnerID) != far || got >= 0 {
			t.Errorf("the daemon hears %+v with descriptor %d, %v", h, got, err)
		}
		h, got, err = wire.ReadHelloFD(u)
		if err != nil || h.Role != x.role || h.Addr != "its address" || h.Slot != 0 || got >= 0 {
			t.Errorf("the process is to hear %+v with descriptor %d, %v", h, got, err)
		}
		b := make([]byte, len(x.behind))
		if _, err := io.ReadFull(u, b); err != nil || string(b) != x.behind {
			t.Errorf("behind the hello: %q, %v", b, err)
		}
	}
}

// Where another user listens there is no process of this session, and nothing is said there.
func TestDial_OtherUserListens_IsToldNothing(t *testing.T) {
	at, mine := listen(t)
	mine.Close()
	_ = os.Remove(at.path)
	l := otheruser.Listen(t, at.path)
	if _, err := at.dialer.Dial(at.addr, whoever(wire.RoleLease), -1); !errors.Is(err, wire.ErrOtherUser) || !Ended(err) {
		t.Errorf("%v", err)
	}
	otheruser.HearsNothing(t, l)
	if _, err := at.dialer.DialControl(at.addr, whoever(wire.RoleControl), nil, nil); !errors.Is(err, wire.ErrOtherUser) || !Ended(err) {
		t.Errorf("%v", err)
	}
	otheruser.HearsNothing(t, l)
}
