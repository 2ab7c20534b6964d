package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/environ"
)

// programEnv is the environment of the program: it finds the cluster without naming it, and has no secrets of it.
func (s *symmetric) programEnv() []string {
	env := slices.DeleteFunc(environ.Public(), func(v string) bool { return strings.HasPrefix(v, "EAGLERAY_ADDRESS=") })
	env = append(env, "RAY_ADDRESS="+s.address)
	if s.flags["--temp-dir"] != "" {
		env = append(env, "EAGLERAY_TMPDIR="+filepath.Dir(baseOf(s.flags)))
	}
	return env
}

// runProgram runs the program until it ends. A signal to this command goes to the program, which is killed if it does not end soon.
func (s *symmetric) runProgram() error {
	cmd := exec.Command(s.program[0], s.program[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, s.out, s.errs
	cmd.Env = s.programEnv()
	cmd.WaitDelay = stopGrace
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s: start the program: %w", symmetricName, err)
	}
	ended := whenEnded(cmd)
	var late <-chan time.Time
	for {
		select {
		case <-ended:
			return programEnd(cmd.ProcessState)
		case got := <-s.signals:
			if got != unix.SIGINT || !atTerminal() { // the terminal has sent it to the program, too
				_ = cmd.Process.Signal(got)
			}
			if late == nil {
				late = time.After(stopGrace)
			}
		case <-late:
			_ = cmd.Process.Kill()
		}
	}
}

// programEnd is nil for a program that ended with status 0. The status of one that a signal ended is the shell's.
func programEnd(p *os.ProcessState) error {
	status := p.ExitCode()
	if w, ok := p.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		status = 128 + int(w.Signal())
	}
	if status == 0 {
		return nil
	}
	return &entrypointError{status}
}

// atTerminal reports whether this process is in the foreground of a terminal, which sends a Ctrl-C to each process there.
func atTerminal() bool {
	group, err := unix.IoctlGetInt(int(os.Stdin.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
