package pipes

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/internal/direct"
)

// relay copies in both directions between a process of this node and a stream to another node.
type relay struct {
	process *direct.Conn
	stream  net.Conn
	linger  time.Duration   // how long the stream stays open after the end of the process
	outlast time.Duration   // how long the process's connection stays open after the loss of the other node
	stop    <-chan struct{} // closed when this node ends all pipes
	over    chan struct{}   // closed when the stream has ended
	left    chan struct{}   // closed when the process has ended
}

// run copies until both directions have ended.
func (r *relay) run() {
	r.over, r.left = make(chan struct{}), make(chan struct{})
	arrived := make(chan struct{})
	if s, ok := r.stream.(Passer); ok {
		s.PassTo(r.process.TryWrite)
	}
	go func() {
		defer close(arrived)
		r.toProcess()
	}()
	r.fromProcess()
	<-arrived
}

// fromProcess sends what the process writes, and then that the process has ended. When it is the
// stream that has ended, toProcess ends the pipe: something that came before may still be in the stream.
func (r *relay) fromProcess() {
	if ended, _ := r.copy(r.stream, r.process); ended == targetEnded {
		return
	}
	close(r.left)
	r.wait(r.linger, r.over)
	r.stream.Close()
	r.process.Close() // toProcess may be waiting for the process to read
}

// toProcess passes on what comes from the stream, and then that the stream has ended. When it is the
// process that has ended, fromProcess ends the pipe: what the process wrote before is to be sent first.
func (r *relay) toProcess() {
	ended, err := r.copy(r.process, r.stream)
	if ended == targetEnded {
		return
	}
	close(r.over)
	if !errors.Is(err, io.EOF) { // nobody has ended the stream: the other node is lost
		r.wait(r.outlast, r.left)
	}
	r.process.Close()
	r.stream.Close()
}

// wait waits so long, or until the channel is closed, or until this node ends all pipes.
func (r *relay) wait(long time.Duration, enough <-chan struct{}) {
	if long <= 0 {
		return
	}
	t := time.NewTimer(long)
	defer t.Stop()
	select {
	case <-t.C:
	case <-enough:
	case <-r.stop:
	}
}

// Sizes of a buffer in bytes. Most pipes are silent most of the time, so a pipe has a small buffer
// of its own, and borrows a large one while much comes.
const (
	smallBuffer = 2 << 10
	largeBuffer = 64 << 10
)

var largeBuffers = sync.Pool{New: func() any {
	b := make([]byte, largeBuffer)
	return &b
}}

// side says which side of a copy has ended.
type side int

const (
	sourceEnded side = iota
	targetEnded
)

// copy copies until one side has ended. If that is the source, the error says how.
func (r *relay) copy(target io.Writer, source io.Reader) (side, error) {
	small := make([]byte, smallBuffer)
	for {
		n, err := source.Read(small)
		if n > 0 && !writes(target, small[:n]) {
			return targetEnded, nil
		}
		if err == nil && n == len(small) {
			var ended side
			if ended, err = copyMuch(target, source); ended == targetEnded {
				return targetEnded, nil
			}
		}
		if err != nil {
			return sourceEnded, err
		}
	}
}

// copyMuch copies with a large buffer until a read gives no more than a small one takes. The error
// is that of the source.
func copyMuch(target io.Writer, source io.Reader) (side, error) {
	large := largeBuffers.Get().(*[]byte)
	defer largeBuffers.Put(large)
	for {
		n, err := source.Read(*large)
		if n > 0 && !writes(target, (*large)[:n]) {
			return targetEnded, nil
		}
		if err != nil || n <= smallBuffer {
			return sourceEnded, err
		}
	}
}

// writes writes b. It reports whether that could be done.
func writes(target io.Writer, b []byte) bool {
	_, err := target.Write(b)
	return err == nil
}
