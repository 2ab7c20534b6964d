package workers

import (
	"fmt"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// Bounds of the output that waits for one driver.
const (
	maxSinkBytes  = 32 << 20 // then the oldest lines are dropped
	maxBatchBytes = 1 << 20  // of one LogBatch
	maxUnsent     = 4 << 20  // bytes in the driver's connection before more is sent
	sinkPause     = 5 * time.Millisecond
)

// Sink gathers the lines of a job's workers and sends them to its driver in
// batches, in the order in which they were read. One goroutine runs while
// there is something to send.
type Sink struct {
	send   func([]wire.LogLine) // to the driver
	unsent func() int           // bytes that the driver has not taken yet

	mu      sync.Mutex
	lines   []wire.LogLine
	bytes   int
	dropped int
	running bool
	closed  bool
	writers int        // outputs that have not ended
	idle    *sync.Cond // running became false, or writers 0
}

// NewSink returns a sink without lines. Send sends a batch to the driver, and unsent
// returns how many bytes the driver has not taken yet.
func NewSink(send func([]wire.LogLine), unsent func() int) *Sink {
	s := &Sink{send: send, unsent: unsent}
	s.idle = sync.NewCond(&s.mu)
	return s
}

// Add queues lines.
func (s *Sink) Add(lines []wire.LogLine) {
	if len(lines) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	for i := range lines {
		s.lines = append(s.lines, lines[i])
		s.bytes += lineBytes(&lines[i])
	}
	cut := 0
	for s.bytes > maxSinkBytes && cut < len(s.lines) {
		s.bytes -= lineBytes(&s.lines[cut])
		cut++
	}
	if cut > 0 {
		s.dropped += cut
		s.lines = append([]wire.LogLine(nil), s.lines[cut:]...)
	}
	if !s.running {
		s.running = true
		go s.run()
	}
}

func lineBytes(l *wire.LogLine) int { return len(l.Text) + len(l.Name) + 48 }

// run sends batches until there is nothing to send.
func (s *Sink) run() {
	for {
		batch, more := s.nextBatch()
		if !more {
			return
		}
		if len(batch) > 0 {
			s.send(batch)
		}
		time.Sleep(sinkPause)
	}
}

// nextBatch takes the lines that are to be sent next out of the queue: none while the driver
// has not taken enough of the earlier ones. It reports false when there is nothing to send,
// and then the sink has no goroutine any more.
func (s *Sink) nextBatch() (batch []wire.LogLine, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.lines) == 0 {
		s.running = false
		s.idle.Broadcast()
		return nil, false
	}
	if s.unsent() >= maxUnsent {
		return nil, true
	}
	if s.dropped > 0 {
		batch = append(batch, wire.LogLine{Stderr: true, Source: "daemon",
			Text: fmt.Sprintf("%d lines of output were dropped: the driver does not read them fast enough (they are in the logs of the session)", s.dropped)})
		s.dropped = 0
	}
	n, bytes := 0, 0
	for n < len(s.lines) && bytes < maxBatchBytes {
		bytes += lineBytes(&s.lines[n])
		n++
	}
	batch = append(batch, s.lines[:n]...)
	s.lines = s.lines[n:]
	s.bytes -= bytes
	if len(s.lines) == 0 {
		s.lines = nil
	}
	return batch, true
}

// join notes an output that adds lines, and leave that it adds nothing more.
func (s *Sink) join() { s.count(1) }

func (s *Sink) leave() { s.count(-1) }

func (s *Sink) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writers += n; s.writers == 0 {
		s.idle.Broadcast()
	}
}

// Flush waits until everything that was added is sent, or until the limit, after which nothing more is taken.
func (s *Sink) Flush(limit time.Duration) {
	s.await(limit, func() bool { return !s.running })
}

// Finish is Flush, and first waits until the output of all workers that write to the sink has ended.
func (s *Sink) Finish(limit time.Duration) {
	s.await(limit, func() bool { return !s.running && s.writers == 0 })
}

// await waits until it is so, or until the limit. It calls the function with mu held.
func (s *Sink) await(limit time.Duration, so func() bool) {
	timer := time.AfterFunc(limit, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.closed = true
		s.idle.Broadcast()
	})
	defer timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !so() && !s.closed {
		s.idle.Wait()
	}
}

// Close drops what is left.
func (s *Sink) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.lines, s.bytes = true, nil, 0
	s.idle.Broadcast()
}
