package workers

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// pipeEnds is a pipe whose read end does not block, so that Go's poller serves it.
type pipeEnds struct{ r, w int }

func newPipe() (pipeEnds, error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return pipeEnds{}, fmt.Errorf("pipe: %w", err)
	}
	if err := unix.SetNonblock(p[0], true); err != nil {
		closeAll(p[:])
		return pipeEnds{}, fmt.Errorf("pipe: %w", err)
	}
	return pipeEnds{p[0], p[1]}, nil
}

// pipeBuffers are lent to pipes while they have something to read: a thousand
// silent workers need none.
var pipeBuffers = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}

// partialAfter is how long text without an end of line waits before it is shown.
const partialAfter = 100 * time.Millisecond

// readPipe takes over the read end of a pipe. A goroutine of its own calls got with what it
// reads, and end at the end of the pipe. When got has reported an unfinished line and
// nothing follows within partialAfter, the goroutine calls partial.
func readPipe(fd int, got func([]byte) bool, partial, end func()) error {
	f := os.NewFile(uintptr(fd), "pipe")
	rc, err := f.SyscallConn()
	if err != nil {
		f.Close()
		return fmt.Errorf("pipe: %w", err)
	}
	go func() {
		defer f.Close()
		if end != nil {
			defer end()
		}
		waits := false
		for {
			eof := false
			if waits {
				_ = f.SetReadDeadline(time.Now().Add(partialAfter))
			}
			err := rc.Read(func(fd uintptr) bool {
				buf := pipeBuffers.Get().(*[]byte)
				defer pipeBuffers.Put(buf)
				n, err := unix.Read(int(fd), *buf)
				switch {
				case errors.Is(err, unix.EINTR):
					return true
				case errors.Is(err, unix.EAGAIN):
					return false
				case err != nil || n <= 0:
					eof = true
				default:
					waits = got((*buf)[:n])
				}
				return true
			})
			if errors.Is(err, os.ErrDeadlineExceeded) {
				partial()
				err, waits = nil, false
				_ = f.SetReadDeadline(time.Time{})
			}
			if err != nil || eof {
				return
			}
		}
	}()
	return nil
}

// tailBytes is how much of a starting process's output is kept for messages.
const tailBytes = 4 << 10

// tail keeps the end of what a process wrote.
type tail struct{ b []byte }

func (t *tail) add(b []byte) {
	t.b = append(t.b, b...)
	if len(t.b) > 2*tailBytes {
		t.b = append(t.b[:0], t.b[len(t.b)-tailBytes:]...)
	}
}

// String returns what the process wrote for its latest work, without the lines
// that name its work.
func (t *tail) String() string {
	b := t.b
	if len(b) > tailBytes {
		b = b[len(b)-tailBytes:]
	}
	if i := bytes.LastIndex(b, []byte(workEndMark)); i >= 0 {
		b = b[i+len(workEndMark):]
	}
	var lines []string
	for _, l := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		if !strings.HasPrefix(l, namePrefix) && !strings.HasPrefix(l, taskPrefix) {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, "\n")
}

func appendFile(path string, b []byte) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = f.Write(b)
	f.Close()
}
