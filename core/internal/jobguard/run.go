package jobguard

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/workers"
)

// Options of Run.
type Options struct {
	Command string        // run by /bin/sh -c
	Log     string        // the file that the output is added to; made with mode 0600
	Stop    unix.Signal   // the first signal to the processes of a job that is to end
	Grace   time.Duration // between that and SIGKILL
	Input   io.Reader     // a line or its end ends the job
}

// Result is how a job has ended.
type Result struct {
	Code    int   `json:"code"`             // exit code; 0 if a signal has ended the command
	Signal  int   `json:"signal,omitempty"` // 0: it ended by itself
	Stopped bool  `json:"stopped,omitempty"`
	Lost    int64 `json:"lost,omitempty"` // bytes of output that could not be written
}

const (
	lookPause = 20 * time.Millisecond
	lastLimit = 10 * time.Second // a process that the kernel does not let go is left after SIGKILL
)

// Run runs a job and returns when no process of it lives. It may be called once in a process, which must not start others meanwhile.
func Run(o Options) (Result, error) {
	runtime.LockOSThread() // PDEATHSIG belongs to the thread that has started the command
	defer runtime.UnlockOSThread()
	_, _ = unix.Setsid() // fails when the starter did it
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return Result{}, fmt.Errorf("become the subreaper: %w", err)
	}
	log, err := openOutput(o.Log)
	if err != nil {
		return Result{}, err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	defer signal.Stop(signals)
	main, read, err := start(o.Command)
	if err != nil {
		log.close()
		return Result{}, err
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(log, read)
	}()
	stop := make(chan struct{})
	go func() {
		_, _ = bufio.NewReader(io.LimitReader(o.Input, 64)).ReadString('\n')
		close(stop)
	}()
	ended, empty := make(chan struct{}), make(chan struct{})
	stopped := make(chan bool, 1)
	go func() { stopped <- endJob(o, signals, stop, ended, empty) }()
	status := reap(main, ended)
	close(empty)
	r := Result{Stopped: <-stopped}
	select {
	case <-copied:
	case <-time.After(lastLimit): // a process that could not be killed has the other end
	}
	read.Close()
	r.Lost = log.close()
	if status.Signaled() {
		r.Signal = int(status.Signal())
	} else {
		r.Code = status.ExitStatus()
	}
	return r, nil
}

// start starts the command. What it writes comes out of the pipe.
func start(command string) (pid int, read *os.File, err error) {
	in, err := os.Open(os.DevNull)
	if err != nil {
		return 0, nil, err
	}
	defer in.Close()
	read, write, err := os.Pipe()
	if err != nil {
		return 0, nil, err
	}
	defer write.Close()
	p, err := os.StartProcess("/bin/sh", []string{"/bin/sh", "-c", command}, &os.ProcAttr{
		Files: []*os.File{in, write, write},
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: unix.SIGKILL},
	})
	if err != nil {
		read.Close()
		return 0, nil, fmt.Errorf("start the entrypoint: %w", err)
	}
	pid = p.Pid
	_ = p.Release() // reap collects it
	return pid, read, nil
}

// reap collects every child until there is none any more, and closes ended when the command has ended.
func reap(main int, ended chan<- struct{}) (how unix.WaitStatus) {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil: // ECHILD
			return how
		case pid == main:
			how = status
			close(ended)
		}
	}
}

// endJob waits until the job is to end, or the command has ended, and ends what lives then. It reports whether somebody wanted the end before the command had ended.
func endJob(o Options, signals <-chan os.Signal, stop, ended, empty <-chan struct{}) (stopped bool) {
	select {
	case <-ended:
	case <-stop:
		stopped = true
	case <-signals:
		stopped = true
	}
	send(o.Stop)
	grace := time.After(o.Grace)
	look := time.NewTicker(lookPause)
	defer look.Stop()
	for waiting := true; waiting; {
		select {
		case <-empty:
			return stopped
		case <-grace:
			waiting = false
		}
	}
	limit := time.After(lastLimit)
	for {
		send(unix.SIGKILL) // again, because one that is killed may just have started another
		select {
		case <-empty:
			return stopped
		case <-limit:
			return stopped
		case <-look.C:
		}
	}
}

// send sends a signal to all processes of the job.
func send(s unix.Signal) {
	for _, pid := range workers.DescendantsOf(os.Getpid(), workers.Processes()) {
		_ = unix.Kill(pid, s)
	}
}

// ParseSignal returns the signal that a name means, as SIGTERM or TERM.
func ParseSignal(name string) (unix.Signal, error) {
	for _, s := range []unix.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGKILL, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2} {
		if strings.TrimPrefix(name, "SIG") == strings.TrimPrefix(unix.SignalName(s), "SIG") {
			return s, nil
		}
	}
	return 0, fmt.Errorf("%q is no signal that ends a job: SIGTERM, SIGINT, SIGKILL, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 are", name)
}
