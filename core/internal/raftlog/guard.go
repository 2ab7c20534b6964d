package raftlog

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// Guard stops the member at the first write that fails. What was acknowledged lies on the disk, and nothing is
// acknowledged any more: after a failed write or fsync nobody knows what the file holds, so no write is tried again.
type Guard struct {
	dir    string
	mu     sync.Mutex
	err    error
	failed chan struct{}
}

func newGuard(dir string) *Guard { return &Guard{dir: dir, failed: make(chan struct{})} }

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
