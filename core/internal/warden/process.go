package warden

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// ReadyFD is the descriptor on which a child says one line: "ready", with a text behind it
// that the later children's commands can use, or "error: " or "invalid: " with the reason why it
// cannot start. Invalid means that the user has asked for something that cannot be. What it
// writes there later is read and dropped.
const ReadyFD = 3

// maxLine bounds what a child may say, in bytes.
const maxLine = 64 << 10

// Command is how a child is started.
type Command struct {
	Argv   []string // the program, which is a path, and its arguments
	Env    []string // nil: that of this process
	Input  []byte   // what it reads from its standard input
	Output *os.File // its standard output and error; nil: nobody reads them
}

// process is a child that runs.
type process struct {
	kid, pid int
	spoken   bool // its line has been taken
}

// line is what a process has said; empty: it says nothing.
type line struct {
	by   *process
	text string
}

// launch starts a command. Its line comes through lines, unless done is closed before.
func launch(i int, c Command, lines chan<- line, done <-chan struct{}) (*process, error) {
	if len(c.Argv) == 0 {
		return nil, fmt.Errorf("there is no command to start it with")
	}
	input, err := inputFile(c.Input)
	if err != nil {
		return nil, err
	}
	defer input.Close()
	output := c.Output
	if output == nil {
		if output, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0); err != nil {
			return nil, err
		}
		defer output.Close()
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	// The order of the files is that of the descriptors: w is ReadyFD.
	started, err := os.StartProcess(c.Argv[0], c.Argv, &os.ProcAttr{
		Dir: "/", Env: c.Env, Files: []*os.File{input, output, output, w},
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: unix.SIGTERM},
	})
	if err != nil {
		r.Close()
		return nil, err
	}
	p := &process{kid: i, pid: started.Pid}
	_ = started.Release() // reap waits for it, not the os package
	go func() {
		defer r.Close()
		text, err := bufio.NewReader(io.LimitReader(r, maxLine)).ReadString('\n')
		if err != nil {
			text = "" // a part of a line is none
		}
		select {
		case lines <- line{p, strings.TrimSuffix(text, "\n")}:
		case <-done:
		}
		_, _ = io.Copy(io.Discard, r)
	}()
	return p, nil
}

// inputFile returns a file that holds what a process is to read.
func inputFile(b []byte) (*os.File, error) {
	if len(b) == 0 {
		return os.Open(os.DevNull)
	}
	fd, err := unix.MemfdCreate("eagleray-input", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memory for the standard input: %w", err)
	}
	f := os.NewFile(uintptr(fd), "input")
	_, err = f.Write(b)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("standard input: %w", err)
	}
	return f, nil
}

// statusText says how a process ended, by its exit code or the negative number of a signal.
func statusText(status int) string {
	if status < 0 {
		return fmt.Sprintf("was killed by signal %d (%s)", -status, unix.SignalName(syscall.Signal(-status)))
	}
	return fmt.Sprintf("exited with code %d", status)
}
