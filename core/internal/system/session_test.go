package system

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/play"
)

// session is one daemon with the parent's end of its socket.
type session struct {
	t      *testing.T
	dir    string
	parent *os.File
	cmd    *exec.Cmd
	exited chan struct{}
}

func startSession(t *testing.T, config map[string]any) *session {
	t.Helper()
	base, err := os.MkdirTemp("", "er")
	if err != nil {
		t.Fatal(err)
	}
	s := &session{t: t, dir: filepath.Join(base, "s-0123456789"), exited: make(chan struct{})}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := config["object_store_memory"]; !ok {
		config["object_store_memory"] = 100 << 20
	}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	s.parent = os.NewFile(uintptr(pair[0]), "parent")
	theirs := os.NewFile(uintptr(pair[1]), "theirs")
	logFile, err := os.Create(filepath.Join(base, "daemon.log"))
	if err != nil {
		t.Fatal(err)
	}
	s.cmd = exec.Command(binary, "daemon", "--embedded", "--parent-fd", "3", "--session-dir", s.dir, "--config", string(text))
	s.cmd.ExtraFiles = []*os.File{theirs}
	s.cmd.Stderr = logFile
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	logFile.Close()
	go func() {
		_ = s.cmd.Wait()
		close(s.exited)
	}()
	line, err := bufio.NewReader(s.parent).ReadString('\n')
	if line != "ready\n" {
		t.Fatalf("the daemon said %q, %v", line, err)
	}
	t.Cleanup(func() {
		s.end()
		if b, err := os.ReadFile(logFile.Name()); err == nil {
			if t.Failed() {
				t.Logf("daemon's log:\n%s", b)
			} else if strings.Contains(string(b), "DATA RACE") {
				t.Errorf("data race in the daemon:\n%s", b)
			}
		}
		os.RemoveAll(base)
	})
	return s
}

// end closes the parent's socket: the daemon must go, with all that it made.
func (s *session) end() {
	s.parent.Close()
	s.gone()
}

// gone waits for the daemon's end and checks what it leaves.
func (s *session) gone() {
	s.t.Helper()
	select {
	case <-s.exited:
	case <-time.After(play.Limit):
		s.t.Error("the daemon does not end")
		_ = s.cmd.Process.Kill()
	}
	if _, err := os.Stat(s.dir); err == nil {
		s.t.Error("the session directory is still there")
	}
	play.Eventually(s.t, "no process of the session is left", func() bool { return len(s.processes()) == 0 })
}

// processes lists those that name the session's directory.
func (s *session) processes() (pids []string) {
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, n := range names {
		b, _ := os.ReadFile(n)
		e, _ := os.ReadFile(strings.TrimSuffix(n, "cmdline") + "environ")
		if strings.Contains(string(b), s.dir) || strings.Contains(string(e), "FAKE_SESSION="+s.dir) {
			pids = append(pids, filepath.Base(filepath.Dir(n)))
		}
	}
	return pids
}

func (s *session) connect(role string) *play.Driver { return play.Connect(s.t, s.dir, role) }

// start connects a driver and registers its program.
func (s *session) start(env map[string]string) *play.Driver { return play.Join(s.t, s.dir, env) }
