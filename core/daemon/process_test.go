package daemon

import (
	"os/exec"
	"testing"
	"time"
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
		ended := make(chan ending, 1)
		if _, err := watchPid(c.Process.Pid, func(p *process) { ended <- p.end }); err != nil {
			t.Fatal(err)
		}
		in.Close()
		select {
		case e := <-ended:
			if !e.known || e.status != want {
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
	p, err := watchPid(c.Process.Pid, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	<-p.gone
	if e := endingOf(c.Process.Pid, -1); e.known {
		t.Errorf("%+v", e)
	}
	if e := endingOf(1, -1); e.known {
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
