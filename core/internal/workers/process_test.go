package workers

import (
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A worker's parent, the zygote, may be busy for as long as it likes: the status
// is known when the process has ended.
func TestWatchPid_ParentDoesNotWait_StatusIsKnown(t *testing.T) {
	for script, want := range map[string]int{"exit 7": 7, "exit 255": 255, "kill -9 $$": -9, "kill -ABRT $$": -6, "exit 0": 0} {
		c := exec.Command("/bin/sh", "-c", "read line; "+script)
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		defer c.Wait() //nolint:errcheck // it ends with the status that is looked for
		ended := make(chan Ending, 1)
		if _, err := Watch(c.Process.Pid, func(p *Process) { ended <- p.End }); err != nil {
			t.Fatal(err)
		}
		in.Close()
		select {
		case e := <-ended:
			if !e.Known || e.Status != want {
				t.Errorf("%s: %+v, want %d", script, e, want)
			}
		case <-time.After(testLimit):
			t.Fatalf("%s: its end was not noticed", script)
		}
	}
}

// A number that means another process, or none, tells nothing.
func TestEndingOf_ProcessWasWaitedFor_NotKnown(t *testing.T) {
	c := exec.Command("/bin/true")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	p, err := Watch(c.Process.Pid, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	<-p.Gone
	if e := endingOf(c.Process.Pid, -1); e.Known {
		t.Errorf("%+v", e)
	}
	if e := endingOf(1, -1); e.Known {
		t.Errorf("a process that lives: %+v", e)
	}
}

// Only what was written for the latest work is quoted.
func TestTail_SectionIsOver_ShowsWhatFollows(t *testing.T) {
	var words tail
	words.add([]byte("of a task\nmore\x1f:ov"))
	words.add([]byte("er:\n\x1f:name:f\nof the next\n"))
	if got := words.String(); got != "of the next" {
		t.Errorf("%q", got)
	}
	words.add([]byte("\x1f:over:\n"))
	if got := words.String(); got != "" {
		t.Errorf("%q", got)
	}
}

// A process is over when it has ended, and not before. A process that never was
// is not over, and can be signalled and released like every other.
func TestProcess_Over_WhenItHasEnded(t *testing.T) {
	var none *Process
	none.Signal(unix.SIGKILL)
	none.Release()
	if none.Over() {
		t.Error("a process that never was is over")
	}
	ended := make(chan *Process, 2)
	p, err := Watch(sleeper(t), func(p *Process) { ended <- p })
	if err != nil {
		t.Fatal(err)
	}
	if p.Over() {
		t.Error("a process that runs is over")
	}
	p.Signal(unix.SIGTERM)
	select {
	case got := <-ended:
		if got != p || !p.Over() || !p.End.Known || p.End.Status != -int(unix.SIGTERM) {
			t.Errorf("ended as %+v, over is %v", got.End, p.Over())
		}
	case <-time.After(testLimit):
		t.Fatal("its end was not noticed")
	}
	p.Signal(unix.SIGKILL)
	p.Release()
	quiet, err := Watch(sleeper(t), func(*Process) { t.Error("a process that was released is watched") })
	if err != nil {
		t.Fatal(err)
	}
	quiet.Release()
	if quiet.Over() {
		t.Error("a released process is over")
	}
	if _, err := Watch(1<<22+1, nil); err == nil {
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
		"worker pid 7 ended with exit code 0":                {0, true},
		"worker pid 7 ended with exit code 3":                {3, true},
		"worker pid 7 was killed by signal 9 (SIGKILL)":      {-9, true},
		"worker pid 7 was killed by signal 1 (SIGHUP)":       {-1, true},
	} {
		if got := ExitText(7, c.status, c.known); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
