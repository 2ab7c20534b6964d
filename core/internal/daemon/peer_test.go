package daemon

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/eagleray/eagleray/core/internal/workers"
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
	other := sleeper(t)
	pid, pidfd := peerProcess(c.(*net.UnixConn), other)
	if pid != os.Getpid() || pidfd < 0 {
		t.Fatalf("process %d with handle %d, want %d", pid, pidfd, os.Getpid())
	}
	p, err := workers.WatchHandle(pid, pidfd, nil)
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
	if pid, pidfd := peerProcess(c.(*net.UnixConn), other); pid != other || pidfd != -1 {
		t.Errorf("a connection that is closed gives process %d with handle %d", pid, pidfd)
	}
}
