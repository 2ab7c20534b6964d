package workers

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// maxLogFile caps one log file of a worker.
const maxLogFile = 64 << 20

// Output takes what one worker writes: two pipes, always drained, into two files
// and to the driver of its job. A nil Output stands for a worker that was not ordered yet.
type Output struct {
	dir  string
	sink *Sink // nil: the job does not want it

	mu    sync.Mutex
	pid   int
	name  string // the latest name on either pipe, see namePrefix
	out   [2]stream
	tail  tail // the end of both outputs until the worker is ready, then of standard error
	wrote time.Time
	ready bool
	open  int
	done  chan struct{} // closed when both pipes ended
}

// stream is one of the two.
type stream struct {
	splitter splitter
	unnamed  []byte // what came before the process id, and so the name of the file, was known
	file     *os.File
	written  int64
	full     bool
}

// newOutput takes over the read ends of stdout and stderr.
func newOutput(dir string, s *Sink, fds [2]int) (*Output, error) {
	o := &Output{dir: dir, sink: s, open: 2, done: make(chan struct{})}
	for i := range o.out {
		o.out[i].splitter = splitter{line: wire.LogLine{Stderr: i == 1}, latest: &o.name}
	}
	if s != nil {
		s.join()
	}
	for i, fd := range fds {
		if err := readPipe(fd, func(b []byte) bool { return o.got(i, b) }, func() { o.showPartial(i) }, func() { o.ended(i) }); err != nil {
			if s != nil {
				s.leave()
			}
			return nil, err
		}
	}
	return o, nil
}

// SetPid names the worker's files.
func (o *Output) SetPid(pid int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.pid != 0 {
		return
	}
	o.pid = pid
	for i := range o.out {
		s := &o.out[i]
		s.splitter.line.Pid = pid
		if b := s.unnamed; len(b) > 0 {
			s.unnamed = nil
			o.write(i, b)
		}
	}
}

// SetReady says that the worker has come up: what it wrote before is no longer of interest.
func (o *Output) SetReady() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ready, o.tail = true, tail{}
}

// Tail returns the end of what the worker has written: before it was ready to both outputs,
// since then to standard error.
func (o *Output) Tail() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.tail.String()
}

// got takes what was read, and reports whether that ends within a line.
func (o *Output) got(i int, b []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.ready || i == 1 {
		o.tail.add(b)
		o.wrote = time.Now()
	}
	if o.pid == 0 {
		if s := &o.out[i]; len(s.unnamed) < maxLine {
			s.unnamed = append(s.unnamed, b...)
		}
		return false
	}
	o.write(i, b)
	return len(o.out[i].splitter.partial) > 0
}

// showPartial shows the text of a line whose end has not come for a while.
func (o *Output) showPartial(i int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sink != nil {
		o.sink.Add(o.out[i].splitter.showPartial(nil))
	}
}

// write handles bytes of a known process; mu held.
func (o *Output) write(i int, b []byte) {
	s := &o.out[i]
	o.keep(i, b)
	lines := s.splitter.add(nil, b)
	if o.sink == nil {
		return
	}
	o.sink.Add(lines)
}

// keep appends to the log file until it is full.
func (o *Output) keep(i int, b []byte) {
	s := &o.out[i]
	if s.full {
		return
	}
	if s.file == nil {
		f, err := os.OpenFile(fmt.Sprintf("%s/worker-%d.%s", o.dir, o.pid, [2]string{"out", "err"}[i]), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			s.full = true
			return
		}
		s.file = f
	}
	if s.written+int64(len(b)) > maxLogFile {
		b = append(append([]byte(nil), b[:maxLogFile-s.written]...), "\n[eagleray: this file has reached its cap of 64 MiB; what follows was not kept]\n"...)
		s.full = true
	}
	n, err := s.file.Write(b)
	s.written += int64(n)
	if err != nil || s.full {
		s.full = true
		s.file.Close()
		s.file = nil
	}
}

// Done is closed when the worker and all other processes that have its pipes have ended.
func (o *Output) Done() <-chan struct{} { return o.done }

func (o *Output) ended(i int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := &o.out[i]
	if o.pid != 0 {
		lines := s.splitter.end(nil)
		if o.sink != nil {
			o.sink.Add(lines)
		}
	}
	if s.file != nil {
		s.file.Close()
		s.file = nil
	}
	s.full = true
	if o.open--; o.open == 0 {
		if o.sink != nil {
			o.sink.leave()
		}
		close(o.done)
	}
}
