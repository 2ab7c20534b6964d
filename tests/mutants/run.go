package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// outcome says what the tests made of a change.
type outcome int

const (
	noticed  outcome = iota // a test failed, or the tests did not come to an end
	survived                // all tests passed
	unusable                // the changed program does not compile
)

// compileMost is how long compiling and linking a changed package may take.
const compileMost = 10 * time.Minute

// runner runs the tests of packages with changed files.
type runner struct {
	root    string // the module's folder
	scratch string // where changed files, the overlay and the trials' temporary folders lie
	bounds  bounds
}

// plain runs the unchanged tests of a package and gives the time that they
// took, compiling left out. Tests that fail without a change could tell nothing.
func (r *runner) plain(ctx context.Context, pkg string) (time.Duration, error) {
	out, verdict, err := r.test(ctx, pkg, nil, 10*time.Minute)
	if err != nil {
		return 0, fmt.Errorf("try the unchanged tests of %s: %w", pkg, err)
	}
	if verdict != nil {
		return 0, fmt.Errorf("the unchanged tests of %s fail: %w\n%s", pkg, verdict, out)
	}
	took, err := told(out)
	if err != nil {
		return 0, fmt.Errorf("read how long the tests of %s took: %w", pkg, err)
	}
	return took, nil
}

// told reads from the last line of the go command, such as
// "ok  	example.org/sample	0.784s", how long tests took.
func told(out []byte) (time.Duration, error) {
	fields := bytes.Fields(out)
	if len(fields) == 0 {
		return 0, errors.New("the go command printed nothing")
	}
	return time.ParseDuration(string(fields[len(fields)-1]))
}

// patience is how long changed tests may take when the unchanged ones take
// this long: other programs on the machine may slow one run and not the other.
func patience(took time.Duration) time.Duration { return 4*took + 5*time.Second }

// try runs a package's tests with one place changed. Tests that take longer
// than the limit or need more than the bounds count as failed: the change made
// something wait or grow for ever.
func (r *runner) try(ctx context.Context, pkg string, p place, limit time.Duration) (outcome, error) {
	source, err := os.ReadFile(p.file)
	if err != nil {
		return 0, fmt.Errorf("read source: %w", err)
	}
	changed := filepath.Join(r.scratch, filepath.Base(p.file))
	if err := os.WriteFile(changed, p.apply(source), 0o600); err != nil {
		return 0, fmt.Errorf("write changed source: %w", err)
	}
	defer os.Remove(changed)
	out, verdict, err := r.test(ctx, pkg, map[string]string{p.file: changed}, limit)
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case err != nil:
		return 0, fmt.Errorf("try %s: %w", p, err)
	case verdict == nil:
		return survived, nil
	case errors.Is(verdict, errBound):
		return noticed, nil
	case bytes.Contains(out, []byte("[build failed]")) || bytes.Contains(out, []byte("[setup failed]")):
		return unusable, nil
	default:
		return noticed, nil
	}
}

// test runs the tests of a package with some files replaced. It gives what
// they printed and how they failed; err says that they could not be run.
func (r *runner) test(ctx context.Context, pkg string, replaced map[string]string, limit time.Duration) (out []byte, verdict, err error) {
	overlay := filepath.Join(r.scratch, "overlay.json")
	text, err := json.Marshal(map[string]map[string]string{"Replace": replaced})
	if err != nil {
		return nil, nil, fmt.Errorf("encode overlay: %w", err)
	}
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		return nil, nil, fmt.Errorf("write overlay: %w", err)
	}
	// The go command ends tests at its own limit, with a dump of what they
	// wait for. Ours comes later and is for programs that hold even that up.
	ctx, cancel := context.WithTimeout(ctx, 2*limit+compileMost)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-failfast", "-vet=off", "-overlay="+overlay, "-timeout="+limit.String(), "./"+pkg)
	cmd.Dir = r.root
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C ends this program, which then ends the trial
	cmd.WaitDelay = time.Second                           // what the tests left behind may hold the pipe
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	verdict, err = r.bounds.run(cmd, filepath.Join(r.scratch, "t"))
	if errors.Is(verdict, exec.ErrWaitDelay) {
		verdict = nil
	}
	return printed.Bytes(), verdict, err
}
