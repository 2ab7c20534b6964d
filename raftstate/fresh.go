package raftstate

import (
	"context"
	"fmt"
	"sync"
)

// fresh shares confirmations between reads: a read needs one that began after it.
type fresh struct {
	mu      sync.Mutex
	running bool
	next    *confirmation // for reads that came while one is under way; nil: there are none
}

type confirmation struct {
	done chan struct{}
	err  error
}

// Fresh returns when reads of this member show everything that was committed before the call. All calls that wait at the same time
// share one commit. A member without others needs none.
func (r *Reign) Fresh(ctx context.Context) error {
	if r.alone() || strikes(staleRead) {
		return nil
	}
	c := r.fresh.join(r.confirmAll)
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return fmt.Errorf("confirm that this head leads: %w", ctx.Err())
	}
}

// join returns the next confirmation, which begins now or when the one under way has ended.
func (f *fresh) join(start func(*confirmation)) *confirmation {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next == nil {
		f.next = &confirmation{done: make(chan struct{})}
	}
	c := f.next
	if !f.running {
		f.running, f.next = true, nil
		go start(c)
	}
	return c
}

// following returns the confirmation that has to begin when one has ended, nil if nobody waits.
func (f *fresh) following() *confirmation {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.next
	f.running, f.next = c != nil, nil
	return c
}

// confirmAll confirms until nobody waits. It ends with raft.
func (r *Reign) confirmAll(c *confirmation) {
	for ; c != nil; c = r.fresh.following() {
		c.err = r.Confirm()
		close(c.done)
	}
}
