package raftlog

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Guard stops the member at the first write that fails. What was acknowledged lies on the disk, and nothing is
// acknowledged any more: after a failed write or fsync nobody knows what the file holds, so no write is tried again.
//
// It also knows how long the present write takes (Stalled): raft's heartbeats need no disk, so a leader whose disk does not answer would lead for ever.
type Guard struct {
	dir    string
	mu     sync.Mutex
	err    error
	failed chan struct{}

	log, term stopwatch // of the write of the log, and of that of raft's term and vote, that is under way
}

func newGuard(dir string) *Guard { return &Guard{dir: dir, failed: make(chan struct{})} }

// StallAfter is how long a write may take. A disk that needs longer does not answer.
const StallAfter = 2 * time.Second

// Stalled reports whether a write takes longer than StallAfter. It does not wait for the disk.
func (g *Guard) Stalled() bool {
	return g.log.reads() > StallAfter || g.term.reads() > StallAfter
}

// stopwatch says how long something takes that is done once at a time.
type stopwatch struct{ begun atomic.Pointer[time.Time] }

func (w *stopwatch) start() {
	now := time.Now()
	w.begun.Store(&now)
}

func (w *stopwatch) stop() { w.begun.Store(nil) }

// reads returns 0 when nothing is being done.
func (w *stopwatch) reads() time.Duration {
	if begun := w.begun.Load(); begun != nil {
		return time.Since(*begun)
	}
	return 0
}

// Failed is closed when a write has failed.
func (g *Guard) Failed() <-chan struct{} { return g.failed }

// Err returns why the member has to stop, nil while it need not.
func (g *Guard) Err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// stop notes a failed write and returns the error that everybody gets from now on.
func (g *Guard) stop(err error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return g.err
	}
	todo := "See to the disk, then start the head again"
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		todo = "Make room on its disk, then start the head again"
	}
	g.err = fmt.Errorf("the state directory %s cannot be written, so the head stops: %w. Nothing that it acknowledged is lost. %s", g.dir, err, todo)
	close(g.failed)
	return g.err
}
