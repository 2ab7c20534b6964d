package system

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// cli runs the command with sessions in a directory of the test's own.
type cli struct {
	t   *testing.T
	tmp string
}

func newCLI(t *testing.T) *cli {
	tmp, err := os.MkdirTemp("", "er")
	if err != nil {
		t.Fatal(err)
	}
	c := &cli{t, tmp}
	t.Cleanup(func() {
		c.run("stop", "--force")
		os.RemoveAll(tmp)
	})
	return c
}

func (c *cli) command(args ...string) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), "EAGLERAY_TMPDIR="+c.tmp, "RAY_ADDRESS=")
	return cmd
}

func (c *cli) run(args ...string) (string, int) {
	c.t.Helper()
	var out bytes.Buffer
	cmd := c.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if _, ok := err.(*exec.ExitError); err != nil && !ok {
		c.t.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// expect runs a command and checks its status and words.
func (c *cli) expect(code int, words []string, args ...string) string {
	c.t.Helper()
	out, got := c.run(args...)
	if got != code {
		c.t.Errorf("%v: status %d, want %d:\n%s", args, got, code, out)
	}
	for _, w := range words {
		if !strings.Contains(out, w) {
			c.t.Errorf("%v: %q is missing in:\n%s", args, w, out)
		}
	}
	return out
}

// session is the one that start left running.
func (c *cli) session() *session {
	c.t.Helper()
	b, err := os.ReadFile(filepath.Join(c.tmp, "eagleray-"+strconv.Itoa(os.Getuid()), "current"))
	if err != nil {
		c.t.Fatal(err)
	}
	return &session{t: c.t, dir: strings.TrimSpace(string(b))}
}

func TestCLI_StartStatusStop(t *testing.T) {
	c := newCLI(t)
	c.expect(1, []string{"no cluster is running"}, "status")
	c.expect(0, []string{"No cluster is running"}, "stop")
	c.expect(2, []string{"give --head to begin a cluster", "--address=HOST:PORT to join one"}, "start")
	c.expect(0, []string{"3 CPUs, 2 GPU", "eagleray stop"}, "start", "--head", "--num-cpus=3", "--num-gpus", "2",
		"--resources", `{"foo": 4}`, "--object-store-memory=100000000", "--no-monitor", "--dashboard-host=0.0.0.0")
	c.expect(1, []string{"running on this machine already", "eagleray stop"}, "start", "--head")
	s := c.session()

	// Several drivers share it; it outlives them.
	a, b := s.start(nil), s.start(nil)
	a.Class(1, map[string]float64{"CPU": 2, "foo": 0.5}, "default")
	a.Want(1, 2)
	h := a.Lease()
	if h.Tell("pid") == "" {
		t.Error("the worker does not answer")
	}
	c.expect(0, []string{"CPU                    2 / 3", "foo                    0.5 / 4", "2 jobs", "f1                     1", "alive head"}, "status")
	a.Peer.Close()
	b.Peer.Close()
	play.Eventually(t, "both jobs are over", func() bool {
		out, _ := c.run("status")
		return strings.Contains(out, "0 jobs, 0 workers") && strings.Contains(out, "Nothing waits")
	})
	out := c.expect(0, []string{"Stopped the cluster (daemon pid "}, "stop")
	pid, _ := strconv.Atoi(regexp.MustCompile(`pid (\d+)`).FindStringSubmatch(out)[1])
	if line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline"); len(line) > 0 {
		t.Errorf("the daemon is still there: %q", line)
	}
	left, _ := filepath.Glob(s.dir + "/*")
	for i := range left {
		left[i] = filepath.Base(left[i])
	}
	if !slices.Equal(left, []string{"ended", "logs"}) { // `eagleray clean` finds the logs by the mark that the session has ended
		t.Errorf("the session leaves %v", left)
	}
	c.expect(0, []string{"No cluster is running"}, "stop")
}

func TestCLI_DaemonStuck_StopEndsIt(t *testing.T) {
	c := newCLI(t)
	c.expect(0, nil, "start", "--head", "--num-cpus=1", "--object-store-memory=100000000")
	s := c.session()
	d := s.connect(wire.RoleDriver)
	_ = unix.Kill(d.Hello.DaemonPid, unix.SIGSTOP)
	play.Eventually(t, "the daemon is stopped", func() bool {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", d.Hello.DaemonPid))
		return bytes.Contains(status, []byte(") T "))
	})
	c.expect(1, []string{"already but does not answer"}, "start", "--head")
	c.expect(0, []string{"which did not answer"}, "stop", "--grace-period=0")
	c.expect(0, nil, "start", "--head", "--num-cpus=1", "--object-store-memory=100000000")
}

func TestCLI_DaemonKilled_StartAgain(t *testing.T) {
	c := newCLI(t)
	c.expect(0, nil, "start", "--head", "--num-cpus=1", "--object-store-memory=100000000")
	_ = unix.Kill(c.session().connect(wire.RoleDriver).Hello.DaemonPid, unix.SIGKILL)
	play.Eventually(t, "status says so", func() bool { out, _ := c.run("status"); return strings.Contains(out, "no cluster is running") })
	c.expect(0, []string{"No cluster is running on this machine"}, "stop")
	c.expect(0, nil, "start", "--head", "--num-cpus=1", "--object-store-memory=100000000")
}

func TestCLI_Block_EndsWithSIGINT(t *testing.T) {
	c := newCLI(t)
	var out bytes.Buffer
	cmd := c.command("start", "--head", "--block", "--num-cpus=1", "--object-store-memory=100000000")
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	play.Eventually(t, "status answers", func() bool { _, code := c.run("status"); return code == 0 })
	_ = cmd.Process.Signal(unix.SIGINT)
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("%v:\n%s", err, out.String())
		}
	case <-time.After(play.Limit):
		t.Fatal("start --block does not end")
	}
	c.expect(1, []string{"no cluster is running"}, "status")
}

func TestCLI_BadValues_StartNothing(t *testing.T) {
	c := newCLI(t)
	c.expect(2, []string{"object_store_memory is 10 bytes"}, "start", "--head", "--object-store-memory=10")
	c.expect(2, []string{"is not a JSON object"}, "start", "--head", "--resources=x")
	if left, _ := filepath.Glob(c.tmp + "/*/s-*"); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}
