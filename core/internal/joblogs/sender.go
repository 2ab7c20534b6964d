package joblogs

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/internal/workers"
)

// retryPause is how long a sender waits after a batch that could not be given to the driver's node.
const retryPause = time.Second

// sender sends the lines of one sink to the node of the job's driver.
type sender struct {
	l    *Logs
	job  ids.Job
	sink *workers.Sink
	ctx  context.Context
	end  context.CancelFunc
	done chan struct{} // closed when everything is sent that will be

	home   chan struct{} // closed when node is known
	node   uint32        // of the driver; 0 while it is not known; written with the lock of Logs
	warned atomic.Bool   // the driver wants warnings of the runtime only

	lost int // lines of calls that failed since the last that did not; of the sink's goroutine
}

// Open returns the sink of a job whose driver is on another node. End ends it.
func (l *Logs) Open(job ids.Job) *workers.Sink {
	s := &sender{l: l, job: job, home: make(chan struct{}), done: make(chan struct{})}
	s.ctx, s.end = context.WithCancel(l.ctx)
	s.sink = workers.NewSink(s.send, func() int { return 0 })
	l.mu.Lock()
	defer l.mu.Unlock()
	l.senders[s.sink] = s
	if node := l.homes[job]; node != 0 {
		s.found(node)
	}
	return s.sink
}

// Runs says on which node the driver of a job is that runs.
func (l *Logs) Runs(job ids.Job, node uint32) {
	if node == 0 || node == l.o.Node {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.homes[job] = node
	for _, s := range l.senders {
		if s.job == job && s.node == 0 {
			s.found(node)
		}
	}
}

// Over says that a job has ended.
func (l *Logs) Over(job ids.Job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.homes, job)
}

// End ends a sink of Open, whose job is over on this node, when the workers that write to it have ended or DrainLimit is over.
func (l *Logs) End(sink *workers.Sink) {
	s := l.sender(sink)
	if s == nil {
		return
	}
	l.goes(func() {
		defer l.forget(s)
		defer s.sink.Close()
		s.sink.Finish(DrainLimit)
	})
}

func (l *Logs) sender(sink *workers.Sink) *sender {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.senders[sink]
}

func (l *Logs) forget(s *sender) {
	s.end()
	close(s.done)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.senders, s.sink)
}

// found notes the node of the driver, and tells it that this node may run workers of the job; the lock of Logs is held.
func (s *sender) found(node uint32) {
	s.node = node
	close(s.home)
	s.l.ask(node, linkmsg.TOutput, &linkmsg.Output{Job: s.job, Address: s.l.o.Address}, func(m *wire.Message, err error) {
		if err == nil { // else the first batch says it
			_ = s.answered(m)
		}
	})
}

// answered reads what the driver's node has said to a batch.
func (s *sender) answered(m *wire.Message) error {
	var taken linkmsg.OutputTaken
	if err := linkmsg.Decode(m.Type.String(), m.Body, linkmsg.MaxAddress, &taken); err != nil {
		return err
	}
	s.warned.Store(!taken.Wanted)
	return nil
}

// send gives a batch to the driver's node. It returns when that node has it, or when it may be lost.
func (s *sender) send(lines []wire.LogLine) {
	select {
	case <-s.home:
	case <-s.ctx.Done():
		return
	}
	if s.warned.Load() {
		if lines = warnings(lines); len(lines) == 0 {
			return
		}
	}
	q := linkmsg.Output{Job: s.job, Address: s.l.o.Address, Lines: make([]linkmsg.OutputLine, 0, len(lines)+1)}
	if s.lost > 0 {
		q.Lines = append(q.Lines, linkmsg.OutputLine{Stderr: true, Source: "daemon",
			Text: fmt.Sprintf("%d lines of output may be lost: the connection between this node and the driver's broke (they are in the logs of the session on this node)", s.lost)})
	}
	for _, l := range lines {
		q.Lines = append(q.Lines, linkmsg.OutputLine(l))
	}
	if err := s.give(&q); err == nil {
		s.lost = 0
		return
	}
	s.lost += len(lines)
	select {
	case <-time.After(retryPause):
	case <-s.ctx.Done():
	}
}

// give sends a batch and waits for the answer.
func (s *sender) give(q *linkmsg.Output) error {
	type answer struct {
		m   *wire.Message
		err error
	}
	ch := make(chan answer, 1)
	s.l.ask(s.node, linkmsg.TOutput, q, func(m *wire.Message, err error) { ch <- answer{m, err} })
	select {
	case a := <-ch:
		if a.err != nil {
			return a.err
		}
		return s.answered(a.m)
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

// warnings returns those of the lines that the runtime itself has written.
func warnings(lines []wire.LogLine) (found []wire.LogLine) {
	for _, l := range lines {
		if l.Source != "" {
			found = append(found, l)
		}
	}
	return found
}
