package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shell prepares a shell that runs a script in a folder of the test.
func shell(t *testing.T, script string) (cmd *exec.Cmd, dir, folder string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	dir = t.TempDir()
	cmd = exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	return cmd, dir, filepath.Join(dir, "t")
}

// ended tells whether the process whose number a file holds has ended.
func ended(t *testing.T, file string) bool {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// A process in a session of its own, whose parent has ended, is ended, too.
func TestTrial_ProcessLeavesItsGroup_IsEnded(t *testing.T) {
	cmd, dir, folder := shell(t, `setsid sh -c 'echo $$ > first; sleep 1000 & echo $! > second; wait' & while ! test -s second; do sleep 0.01; done`)
	if verdict, err := ordinary.run(cmd, folder); verdict != nil || err != nil {
		t.Fatal(verdict, err)
	}
	for _, name := range []string{"first", "second"} {
		if !ended(t, filepath.Join(dir, name)) {
			t.Errorf("the %s process still lives", name)
		}
	}
}

func TestTrial_TemporaryFolder_IsItsOwnAndIsRemoved(t *testing.T) {
	cmd, _, folder := shell(t, `test "$TMPDIR" = "$PWD/t" && test "$EAGLERAY_TMPDIR" = "$TMPDIR" && mkdir -p $TMPDIR/a/b && touch $TMPDIR/a/b/c && chmod 500 $TMPDIR/a/b $TMPDIR/a`)
	if verdict, err := ordinary.run(cmd, folder); verdict != nil || err != nil {
		t.Fatal(verdict, err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

// Each script goes on for ever unless it is ended, except for the one that
// fails by itself at the bound of a file's size.
func TestTrial_Bounds_EndWhatExceedsThem(t *testing.T) {
	for _, c := range []struct {
		name, script, says string
		bounds             bounds
	}{
		{"memory", "dd if=/dev/zero of=/dev/null bs=256M & wait", "MiB of memory, 64 are allowed", bounds{64 << 20, 1 << 40, 1 << 40, 99}},
		{"disk", "i=0; while :; do i=$((i+1)); head -c 1m /dev/zero > $TMPDIR/$i; done", "MiB, 16 are allowed", bounds{1 << 40, 16 << 20, 1 << 40, 99}},
		{"processes", "while :; do sleep 1000 & done", "processes, 20 are allowed", bounds{1 << 40, 1 << 40, 1 << 40, 20}},
		{"file", "head -c 9m /dev/zero > large", "", bounds{1 << 40, 1 << 40, 8 << 20, 99}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd, _, folder := shell(t, c.script)
			verdict, err := c.bounds.run(cmd, folder)
			if err != nil || verdict == nil || errors.Is(verdict, errBound) == (c.says == "") || !strings.Contains(verdict.Error(), c.says) {
				t.Errorf("got %v, %v", verdict, err)
			}
			if left := descendants(); len(left) > 0 {
				t.Errorf("the processes %v live", left)
			}
		})
	}
	if err := os.WriteFile(filepath.Join(t.TempDir(), "large"), make([]byte, 9<<20), 0o600); err != nil {
		t.Errorf("the bound on files holds for this program, too: %v", err)
	}
}

func TestTrial_WithinBounds_IsNotDisturbed(t *testing.T) {
	cmd, _, folder := shell(t, "head -c 4m /dev/zero > $TMPDIR/a; sleep 0.3 & sleep 0.3; exit 7")
	verdict, err := bounds{256 << 20, 8 << 20, 8 << 20, 20}.run(cmd, folder)
	var exit *exec.ExitError
	if err != nil || !errors.As(verdict, &exit) || exit.ExitCode() != 7 {
		t.Errorf("got %v, %v", verdict, err)
	}
}

// A trial that cannot be made has no verdict: it is not counted as noticed.
func TestTry_TrialCannotBeMade_IsAnError(t *testing.T) {
	r := sampleRunner(t)
	s := ready(t, r, "held")
	if err := os.Mkdir(filepath.Join(r.scratch, "t"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := r.try(context.Background(), s, s.places[0]); err == nil || !strings.Contains(err.Error(), "make the trial's folder") {
		t.Errorf("got %v", err)
	}
}

// A change whose tests pass although they leave processes behind is a
// survivor, and one after which the program grows without end is noticed.
func TestTry_GrowsOrLeavesProcesses(t *testing.T) {
	r := sampleRunner(t)
	r.bounds.memory = 2 << 30
	for pkg, want := range map[string]outcome{"grows": noticed, "leaves": survived} {
		s := ready(t, r, pkg)
		if len(s.places) != 1 {
			t.Fatal(s.places)
		}
		if got, err := r.try(context.Background(), s, s.places[0]); err != nil || got != want {
			t.Errorf("%s: got %v, %v", pkg, got, err)
		}
	}
	if !ended(t, filepath.Join(r.root, "leaves/pid")) {
		t.Error("the process that the test left behind lives")
	}
}
