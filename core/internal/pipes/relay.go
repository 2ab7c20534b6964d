package pipes

import (
	"io"
	"net"
	"sync"
	"time"
)

// relay copies in both directions between a process of this node and a stream to another node.
type relay struct {
	process socket
	stream  net.Conn
	linger  time.Duration   // how long the stream stays open after the end of the process
	stop    <-chan struct{} // closed when this node ends all pipes
	over    chan struct{}   // closed when the stream has ended
}

// run copies until both directions have ended.
func (r *relay) run() {
	r.over = make(chan struct{})
	arrived := make(chan struct{})
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
	if r.copy(r.stream, r.process) == targetEnded {
		return
	}
	if r.linger > 0 {
		t := time.NewTimer(r.linger)
		defer t.Stop()
		select {
		case <-t.C:
		case <-r.over:
		case <-r.stop:
		}
	}
	r.stream.Close()
	r.process.Close() // toProcess may be waiting for the process to read
}

// toProcess passes on what comes from the stream, and then that the stream has ended. When it is the
// process that has ended, fromProcess ends the pipe: what the process wrote before is to be sent first.
func (r *relay) toProcess() {
	if r.copy(r.process, r.stream) == targetEnded {
		return
	}
	close(r.over)
	r.process.Close()
	r.stream.Close()
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

// copy copies until one side has ended.
func (r *relay) copy(target io.Writer, source io.Reader) side {
	small := make([]byte, smallBuffer)
	for {
		n, err := source.Read(small)
		if n > 0 && !writes(target, small[:n]) {
			return targetEnded
		}
		if err == nil && n == len(small) {
			var ended side
			if ended, err = copyMuch(target, source); ended == targetEnded {
				return targetEnded
			}
		}
		if err != nil {
			return sourceEnded
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
