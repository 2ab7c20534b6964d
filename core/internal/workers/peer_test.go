package workers

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

// The kernel says who is at the other end of a socket, whatever the process
// itself says, and gives a handle of that process.
func TestPeerProcess_IsWhoTheKernelSays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	from, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	const other = 1 << 20
	pid, pidfd := PeerProcess(c.(*net.UnixConn), other)
	if got := PeerPid(c.(*net.UnixConn), other); got != os.Getpid() {
		t.Errorf("process %d, want %d", got, os.Getpid())
	}
	if pid != os.Getpid() || pidfd < 0 {
		t.Fatalf("process %d with handle %d, want %d", pid, pidfd, os.Getpid())
	}
	p, err := WatchHandle(pid, pidfd, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p.Over() {
		t.Error("this process is said to have ended")
	}
	p.Release()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if got := PeerPid(c.(*net.UnixConn), other); got != other {
		t.Errorf("a connection that is closed gives process %d", got)
	}
	if pid, pidfd := PeerProcess(c.(*net.UnixConn), other); pid != other || pidfd != -1 {
		t.Errorf("a connection that is closed gives process %d with handle %d", pid, pidfd)
	}
}
