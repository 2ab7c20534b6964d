package daemon

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
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
	p, err := watchPidfd(pid, pidfd, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p.over() || endingOf(pid, pidfd).known {
		t.Error("this process is said to have ended")
	}
	p.release()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if pid, pidfd := peerProcess(c.(*net.UnixConn), other); pid != other || pidfd != -1 {
		t.Errorf("a connection that is closed gives process %d with handle %d", pid, pidfd)
	}
}

// A process is over when it has ended, and not before. A process that never was
// is not over, and can be signalled and released like every other.
func TestProcess_Over_WhenItHasEnded(t *testing.T) {
	var none *process
	none.signal(unix.SIGKILL)
	none.release()
	if none.over() {
		t.Error("a process that never was is over")
	}
	ended := make(chan *process, 2)
	p, err := watchPid(sleeper(t), func(p *process) { ended <- p })
	if err != nil {
		t.Fatal(err)
	}
	if p.over() {
		t.Error("a process that runs is over")
	}
	p.signal(unix.SIGTERM)
	select {
	case got := <-ended:
		if got != p || !p.over() || !p.end.known || p.end.status != -int(unix.SIGTERM) {
			t.Errorf("ended as %+v, over is %v", got.end, p.over())
		}
	case <-time.After(testLimit):
		t.Fatal("its end was not noticed")
	}
	p.signal(unix.SIGKILL)
	p.release()
	quiet, err := watchPid(sleeper(t), func(*process) { t.Error("a process that was released is watched") })
	if err != nil {
		t.Fatal(err)
	}
	quiet.release()
	if quiet.over() {
		t.Error("a released process is over")
	}
	if _, err := watchPid(1<<22+1, nil); err == nil {
		t.Error("a process that cannot be is watched")
	}
}

// A worker is described by how it ended.
func TestExitText_StatusAndSignal(t *testing.T) {
	for want, c := range map[string]struct {
		status int
		known  bool
	}{
		"worker pid 7 is gone, its exit status is not known": {3, false},
		"worker pid 7 exited with code 0":                    {0, true},
		"worker pid 7 exited with code 3":                    {3, true},
		"worker pid 7 was killed by signal 9 (SIGKILL)":      {-9, true},
		"worker pid 7 was killed by signal 1 (SIGHUP)":       {-1, true},
	} {
		if got := exitText(7, c.status, c.known); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
