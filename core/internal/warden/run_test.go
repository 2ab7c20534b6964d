package warden

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/tests/await"
)

// played is a warden in a process of its own. Every process below it holds its output open.
type played struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string // closed when no process is left that has the output
	all   []string
}

func playedWarden(t *testing.T, p plan) *played {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self())
	c.Env = append(os.Environ(), roleVar+"=warden", "WARDEN_TEST_PLAN="+string(text), "WARDEN_TEST_DIR="+t.TempDir(),
		"GORACE="+os.Getenv("GORACE")+" atexit_sleep_ms=0") // a process under the race detector sleeps for a second before it ends
	c.Stdout, c.Stderr = w, os.Stderr
	if p.Pid1 {
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}}
	}
	err = c.Start()
	w.Close()
	if err != nil {
		r.Close()
		if p.Pid1 {
			t.Skipf("namespaces of processes are not allowed here: %v", err)
		}
		t.Fatal(err)
	}
	d := &played{t: t, cmd: c, lines: make(chan string, 1000)}
	go func() {
		defer close(d.lines)
		defer r.Close()
		for in := bufio.NewScanner(r); in.Scan(); {
			d.lines <- in.Text()
		}
	}()
	t.Cleanup(func() {
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			_ = c.Wait()
		}()
		if t.Failed() { // the second signal makes it kill whatever there is
			_ = c.Process.Signal(unix.SIGTERM)
			time.Sleep(10 * time.Millisecond) // two signals at once are one
			_ = c.Process.Signal(unix.SIGTERM)
		}
		await.Gone(t, gone, "the warden", c.Process.Kill)
	})
	return d
}

// until waits for a line that the pattern matches, if none has come yet, and returns the groups of the match.
func (d *played) until(pattern string) []string {
	d.t.Helper()
	re := regexp.MustCompile(pattern)
	for _, line := range d.all {
		if m := re.FindStringSubmatch(line); m != nil {
			return m
		}
	}
	limit := time.After(await.Limit)
	for {
		select {
		case line, open := <-d.lines:
			if !open {
				d.t.Fatalf("everything has ended without %q:\n%s", pattern, strings.Join(d.all, "\n"))
			}
			d.all = append(d.all, line)
			if m := re.FindStringSubmatch(line); m != nil {
				return m
			}
		case <-limit:
			d.t.Fatalf("not within %v: %q after\n%s", await.Limit, pattern, strings.Join(d.all, "\n"))
		}
	}
}

// nothingLeft waits until no process is left, and returns all that was said.
func (d *played) nothingLeft() string {
	d.t.Helper()
	limit := time.After(await.Limit)
	for {
		select {
		case line, open := <-d.lines:
			if !open {
				return strings.Join(d.all, "\n") + "\n"
			}
			d.all = append(d.all, line)
		case <-limit:
			d.t.Fatalf("processes are left after %v:\n%s", await.Limit, strings.Join(d.all, "\n"))
		}
	}
}

func (d *played) signal(s syscall.Signal) {
	d.t.Helper()
	if err := d.cmd.Process.Signal(s); err != nil {
		d.t.Fatal(err)
	}
}

// inOrder checks that lines were said, in this order.
func inOrder(t *testing.T, said string, lines ...string) {
	t.Helper()
	rest := said
	for _, line := range lines {
		_, after, found := strings.Cut(rest, line)
		if !found {
			t.Errorf("%q is missing, or came too early:\n%s", line, said)
			return
		}
		rest = after
	}
}

func TestRun_Signal_EndsTheDaemonThenTheHead(t *testing.T) {
	d := playedWarden(t, plan{Children: []part{
		{"head", true, [][]string{{"input", "tell said $SAID", "say ready 6379", "wait"}}},
		{"daemon", false, [][]string{{"tell said $SAID", "say ready", "orphan worker", "wait"}}},
	}})
	d.until("worker .* lives")
	d.signal(unix.SIGTERM)
	said := d.nothingLeft()
	inOrder(t, said, "head reads input of head", "said map[]", "said map[head:6379]", "ready map[daemon: head:6379]",
		"daemon terminated", "ended daemon 0", "head terminated", "ended head 0", "run returned <nil>, 0 left")
}

func TestRun_DaemonIsKilled_NothingOfItIsLeftWhenItsEndIsTold(t *testing.T) {
	d := playedWarden(t, plan{Children: []part{
		{"head", true, [][]string{{"say ready", "wait"}}},
		{"daemon", false, [][]string{{"say ready", "orphan one", "orphan two", "deaf", "tell waits", "hold"}}},
	}})
	for _, name := range []string{"one", "two"} {
		d.until(name + " .* lives")
	}
	pid := d.until(`daemon (\d+) waits`)[1]
	killPid(t, pid)
	said := d.nothingLeft()
	inOrder(t, said, "ended daemon -9", "head terminated", "ended head 0",
		"run returned the daemon (pid "+pid+") was killed by signal 9 (SIGKILL), 0 left", "failure of daemon, ready true")
}

func TestRun_HeadEnds_IsStartedAgainAndTheDaemonStays(t *testing.T) {
	d := playedWarden(t, plan{Children: []part{
		{"head", true, [][]string{{"say ready 7", "tell first", "wait"}, {"say error: the disk is full", "exit 1"}, {"tell third $SAID", "say ready 8", "wait"}}},
		{"daemon", false, [][]string{{"say ready", "tell once", "wait"}}},
	}})
	pid := d.until(`head (\d+) first`)[1]
	d.until("warden .* ready")
	killPid(t, pid)
	d.until("head .* third map.*head:7")
	d.signal(unix.SIGTERM)
	said := d.nothingLeft()
	inOrder(t, said, "is started again", "SIGKILL", "is started again", "the disk is full", "third", "daemon terminated", "head terminated", "run returned <nil>, 0 left")
	if n := strings.Count(said, "once"); n != 1 {
		t.Errorf("the daemon was started %d times:\n%s", n, said)
	}
}

func TestRun_ChildCannotStart_SaysWhyAndEndsTheOthers(t *testing.T) {
	head := part{"head", true, [][]string{{"tell up", "say ready", "wait"}}}
	for name, c := range map[string]struct {
		daemon []string
		limit  time.Duration
		want   string
	}{
		"says why":                  {[]string{"say error: port 6379 is taken", "exit 1"}, 0, "daemon: port 6379 is taken"},
		"says why and does not end": {[]string{"say error: port 6379 is taken", "hold"}, 0, "daemon: port 6379 is taken"},
		"ends without a word":       {[]string{"exit 3"}, 0, "exited with code 3 before it was ready"},
		"is killed":                 {[]string{"die"}, 0, "was killed by signal 9 (SIGKILL) before it was ready"},
		"says nothing":              {[]string{"hold"}, 200 * time.Millisecond, "daemon: was not ready within 200ms"},
		"speaks another language":   {[]string{"say OK", "hold"}, 0, `daemon: said "OK"`},
		"leaves a process behind":   {[]string{"orphan worker", "exit 3"}, 0, "exited with code 3"},
		"has no command":            {[]string{"nothing"}, 0, "daemon: there is no command"},
	} {
		t.Run(name, func(t *testing.T) {
			d := playedWarden(t, plan{ReadyLimit: c.limit, Children: []part{head, {"daemon", false, [][]string{c.daemon}}}})
			inOrder(t, d.nothingLeft(), "up", "ended daemon", "head terminated", "run returned ", c.want, "0 left", "failure of daemon, ready false")
		})
	}
}

func TestRun_ChildIgnoresSIGTERM_IsKilledAfterTheGrace(t *testing.T) {
	d := playedWarden(t, plan{Grace: 100 * time.Millisecond, Children: []part{
		{"head", true, [][]string{{"say ready", "wait"}}},
		{"daemon", false, [][]string{{"deaf", "say ready", "hold"}}},
	}})
	d.until("warden .* ready")
	d.signal(unix.SIGTERM)
	inOrder(t, d.nothingLeft(), "ended daemon -9", "head terminated", "run returned <nil>, 0 left")
}

func TestRun_SecondSignal_KillsAtOnce(t *testing.T) {
	d := playedWarden(t, plan{Grace: time.Hour, Children: []part{
		{"head", true, [][]string{{"deaf", "say ready", "hold"}}},
		{"daemon", false, [][]string{{"say ready", "wait", "hold"}}},
	}})
	d.until("warden .* ready")
	d.signal(unix.SIGTERM)
	d.until("daemon terminated")
	d.signal(unix.SIGTERM)
	said := d.nothingLeft()
	inOrder(t, said, "run returned <nil>, 0 left")
	for _, line := range []string{"ended daemon -9", "ended head -9"} {
		inOrder(t, said, line)
	}
}

func TestRun_WardenIsKilled_ChildrenGetSIGTERM(t *testing.T) {
	d := playedWarden(t, plan{Children: []part{
		{"head", true, [][]string{{"say ready", "wait"}}},
		{"daemon", false, [][]string{{"say ready", "wait"}}},
	}})
	d.until("warden .* ready")
	d.signal(unix.SIGKILL)
	said := d.nothingLeft()
	inOrder(t, said, "daemon terminated")
	inOrder(t, said, "head terminated")
}

func TestRun_ChildThatWasThereBefore_IsLeftAlone(t *testing.T) {
	d := playedWarden(t, plan{Before: true, Children: []part{{"daemon", false, [][]string{{"say ready", "orphan worker", "exit 0"}}}}})
	before := d.until(`before (\d+) lives`)[1]
	// What Run has started is gone; the other one lives, and ends with its cleanup.
	m := d.until(`run returned .* exited with code 0, (\d) left`)
	if m[1] != "1" {
		t.Errorf("%s processes are left, want the one that was there before:\n%s", m[1], strings.Join(d.all, "\n"))
	}
	killPid(t, before)
	d.nothingLeft()
}

func TestRun_AsProcess1_CollectsOrphansAndEndsWithSIGTERM(t *testing.T) {
	d := playedWarden(t, plan{Pid1: true, Children: []part{
		{"head", true, [][]string{{"say ready", "wait"}}},
		{"daemon", false, [][]string{{"say ready", "brief", "orphan worker", "wait"}}},
	}})
	if m := d.until("warden 1 ready|no namespace: .*"); strings.HasPrefix(m[0], "no") {
		d.nothingLeft()
		t.Skip(m[0])
	}
	d.until("the orphan was collected")
	d.until("worker .* lives")
	d.signal(unix.SIGTERM)
	inOrder(t, d.nothingLeft(), "daemon terminated", "ended daemon 0", "head terminated", "run returned <nil>, 0 left")
}

func TestRun_NothingToRun_IsAnError(t *testing.T) {
	if err := Run(nil, Options{}); err == nil {
		t.Error("it runs nothing")
	}
}

func killPid(t *testing.T, text string) {
	t.Helper()
	pid, err := strconv.Atoi(text)
	if err == nil {
		err = unix.Kill(pid, unix.SIGKILL)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// BenchmarkRun is what a warden adds to a process: its start, its line, its end and the look for what it has left.
func BenchmarkRun(b *testing.B) {
	for b.Loop() {
		ready := false
		err := Run([]Child{{Name: "daemon", Command: func(map[string]string) Command {
			return Command{Argv: []string{"/bin/sh", "-c", "echo ready >&3"}}
		}}}, Options{Ready: func(map[string]string) { ready = true }})
		var f *Failure
		if !errors.As(err, &f) || f.Status != 0 || !f.Ready || !ready {
			b.Fatal(err)
		}
	}
}
