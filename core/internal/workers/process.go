package workers

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// Process watches one process through its pidfd, the only handle that cannot
// mean another process later. A nil Process stands for one that is not known yet.
type Process struct {
	pid  int
	file *os.File
	Gone chan struct{} // closed when the process has ended
	End  Ending        // how it ended; valid when Gone is closed

	released atomic.Bool // nobody wants to know of its end any more
}

// Ending is how a process ended.
type Ending struct {
	Status int  // the exit code, or the negative number of the signal that ended it
	Known  bool // Status is
}

// WatchHandle takes over a pidfd and calls ended, once, on a goroutine of its
// own when the process is gone.
func WatchHandle(pid, fd int, ended func(*Process)) (*Process, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("pidfd of %d: %w", pid, err)
	}
	p := &Process{pid: pid, file: os.NewFile(uintptr(fd), "pidfd"), Gone: make(chan struct{})}
	rc, err := p.file.SyscallConn()
	if err != nil {
		p.file.Close()
		return nil, fmt.Errorf("pidfd of %d: %w", pid, err)
	}
	go func() {
		// A pidfd is readable when its process is gone; there is nothing to read.
		_ = rc.Read(func(fd uintptr) bool { return hasEnded(int(fd)) })
		if p.released.Load() {
			return // the read ended because the file was closed
		}
		_ = rc.Control(func(fd uintptr) { p.End = endingOf(pid, int(fd)) })
		close(p.Gone)
		if ended != nil {
			ended(p)
		}
		p.file.Close()
	}()
	return p, nil
}

// Watch is WatchHandle for a process that is known by its number.
func Watch(pid int, ended func(*Process)) (*Process, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, fmt.Errorf("pidfd of %d: %w", pid, err)
	}
	return WatchHandle(pid, fd, ended)
}

// exitCodeField is the place of the exit code in /proc/PID/stat, counted from
// the state, which follows the name.
const exitCodeField = 49

// endingOf reads how a process ended while its parent has not waited for it. The
// parent, which may be busy, need not be asked then.
func endingOf(pid, fd int) (e Ending) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return e
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) <= exitCodeField || fields[0] != "Z" {
		return e
	}
	code, err := strconv.ParseUint(fields[exitCodeField], 10, 16)
	// The number may mean another process if the parent has waited meanwhile.
	if err != nil || unix.PidfdSendSignal(fd, 0, nil, 0) != nil {
		return e
	}
	return Ending{statusCode(unix.WaitStatus(code)), true}
}

func hasEnded(fd int) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return n > 0 || err != nil && !errors.Is(err, unix.EINTR)
}

// Signal sends a Signal; a process that is gone is no error.
func (p *Process) Signal(s unix.Signal) {
	if p == nil {
		return
	}
	rc, err := p.file.SyscallConn()
	if err != nil {
		return
	}
	_ = rc.Control(func(fd uintptr) { _ = unix.PidfdSendSignal(int(fd), s, nil, 0) })
}

// Over reports whether the process is known to have ended.
func (p *Process) Over() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.Gone:
		return true
	default:
		return false
	}
}

// Release ends the watch of a process that may live on.
func (p *Process) Release() {
	if p != nil {
		p.released.Store(true)
		p.file.Close()
	}
}

// ExitText says how a process ended: status as from waitstatus_to_exitcode,
// negative for a signal.
func ExitText(pid, status int, known bool) string {
	switch {
	case !known:
		return fmt.Sprintf("worker pid %d is gone, its exit status is not known", pid)
	case status < 0:
		return fmt.Sprintf("worker pid %d was killed by signal %d (%s)", pid, -status, unix.SignalName(syscall.Signal(-status)))
	default:
		return fmt.Sprintf("worker pid %d ended with exit code %d", pid, status)
	}
}

// statusCode turns a wait status into the form of exitText.
func statusCode(ws unix.WaitStatus) int {
	if ws.Signaled() {
		return -int(ws.Signal())
	}
	return ws.ExitStatus()
}
