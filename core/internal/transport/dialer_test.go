package transport

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// listen returns the address of a socket of the test and its listener.
func listen(t *testing.T) (string, *net.UnixListener) {
	t.Helper()
	dir, err := os.MkdirTemp("", "er") // t.TempDir's names are too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	addr := filepath.Join(dir, "p.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: addr, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return addr, l
}

// whoever is a hello that every process takes.
func whoever(role string) wire.Hello {
	o := ids.Owner{7}
	return wire.Hello{Version: wire.Version, Role: role, OwnerID: o[:], Addr: "/where/it/listens"}
}

func TestDial_HelloAndPageComeBeforeTheFirstFrame(t *testing.T) {
	addr, l := listen(t)
	page, err := unix.MemfdCreate("page", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(page) })
	fd, err := UnixDialer{}.Dial(addr, whoever(wire.RoleLease), page)
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
	if err != nil || h.Role != wire.RoleLease || h.Addr != "/where/it/listens" {
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
	addr, l := listen(t)
	l.Close()
	if fd, err := (UnixDialer{}).Dial(addr, whoever(wire.RoleLease), -1); err == nil || fd >= 0 {
		t.Errorf("descriptor %d, %v", fd, err)
	}
	if _, err := (UnixDialer{}).DialControl(addr, whoever(wire.RoleControl), refuse, nil); err == nil {
		t.Error("a control connection was opened to nobody")
	}
}

// A process that is stopped takes no connections. Whoever dials it must go on.
func TestDial_NobodyAccepts_EndsInTime(t *testing.T) {
	addr, l := listen(t)
	rc, err := l.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := rc.Control(func(fd uintptr) { err = unix.Listen(int(fd), 0) }); err != nil {
		t.Fatal(err)
	}
	var fds []int
	t.Cleanup(func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	})
	for began := time.Now(); ; {
		fd, err := UnixDialer{Timeout: 20 * time.Millisecond}.Dial(addr, whoever(wire.RoleLease), -1)
		if err != nil {
			if !errors.Is(err, unix.EAGAIN) {
				t.Errorf("it failed for another reason: %v", err)
			}
			if !strings.Contains(err.Error(), addr+": it took no connection within 20ms") {
				t.Errorf("the error does not say what happened: %v", err)
			}
			break // the queue of those that wait to be accepted is full
		}
		if fds = append(fds, fd); time.Since(began) > patience {
			t.Fatal("every connection was taken")
		}
	}
}
