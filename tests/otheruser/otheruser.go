// Package otheruser lets a test meet a socket at which another user of the machine listens.
package otheruser

import (
	"net"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// UID is the other user, who is nobody.
const UID = 65534

// Listen opens a Unix socket at a path, at which the other user listens until the test ends. The kernel tells whoever connects that the
// process there is UID's. It skips the test unless root runs it, for nobody else may become another user.
func Listen(t testing.TB, path string) net.Listener {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root may become another user")
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), path)
	defer file.Close()
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread, whose user is another one, ends with the goroutine
		if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), UID, ^uintptr(0)); e != 0 {
			done <- e
			return
		}
		done <- unix.Listen(fd, 8)
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	l, err := net.FileListener(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// HearsNothing ends the test with an error if something was said to the listener on a connection that was made to it.
func HearsNothing(t testing.TB, l net.Listener) {
	t.Helper()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b := make([]byte, 4096)
	if n, err := c.Read(b); err == nil {
		t.Errorf("the other user was told %q", b[:n])
	}
}
