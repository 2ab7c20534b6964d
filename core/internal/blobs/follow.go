package blobs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eagleray/eagleray/core/record"
)

// Times of the work in the background.
const (
	lookAgain  = 30 * time.Second // between two looks without a reason
	lookSoon   = 2 * time.Second  // when a value did not come
	between    = time.Second      // two looks are at least so far from each other: each asks the state for all values
	freshLimit = 10 * time.Second
	atOnce     = 3 // values that Follow gets at a time
)

// Applied says that commands with these tickets have been applied, or, without tickets, that the state names other values than before. It only makes a note.
func (s *Store) Applied(tickets ...record.BlobTicket) {
	s.note(tickets)
	s.poke()
}

func (s *Store) note(tickets []record.BlobTicket) {
	s.inbox.mu.Lock()
	defer s.inbox.mu.Unlock()
	s.inbox.tickets = append(s.inbox.tickets, tickets...)
}

// poke wakes Follow.
func (s *Store) poke() {
	select {
	case s.inbox.wake <- struct{}{}:
	default:
	}
}

func (s *Store) takeTickets() []record.BlobTicket {
	s.inbox.mu.Lock()
	defer s.inbox.mu.Unlock()
	list := s.inbox.tickets
	s.inbox.tickets = nil
	return list
}

// Begin gives the Store the state of its head. It is called once, before Follow.
func (s *Store) Begin(state State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = state
}

// begun reports whether the Store has the state of its head.
func (s *Store) begun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state != nil
}

// Follow gets what the state names and this head lacks, and removes what nothing names, until the context ends.
func (s *Store) Follow(ctx context.Context) {
	for ctx.Err() == nil {
		changed := s.o.Others.Changed()
		pause := lookAgain
		s.sweep(ctx)
		if !s.catchUp(ctx) {
			pause = lookSoon
		}
		timer := time.NewTimer(pause)
		select {
		case <-s.inbox.wake:
			sleep(ctx, between)
		case <-changed:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// sweep drops the tickets of applied commands, and those whose time is over, and removes the files that nothing keeps.
func (s *Store) sweep(ctx context.Context) {
	old := s.overdue()
	if len(old) > 0 {
		ctx, cancel := context.WithTimeout(ctx, freshLimit)
		defer cancel()
		if err := s.state.Fresh(ctx); err != nil { // their commands may still come
			old = nil
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.takeTickets() {
		s.release(t)
	}
	for _, t := range old {
		s.release(t)
	}
	for h := range s.have {
		s.removeUnused(h)
	}
	for h := range s.bad {
		s.removeUnused(h)
	}
	for h := range s.lost {
		if !s.state.NamesBlob(h) {
			delete(s.lost, h)
		}
	}
}

// removeUnused removes a file that no record names and no ticket protects; mu held. What is being fetched is named, or was a moment ago.
func (s *Store) removeUnused(h record.BlobHash) {
	if s.held[h].tickets > 0 || s.comes[h] != nil || s.state.NamesBlob(h) {
		return
	}
	if err := os.Remove(s.path(h)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.o.Log.Warn("the file of a large value cannot be removed", "value", h, "error", err)
		return
	}
	delete(s.have, h)
	delete(s.bad, h)
	delete(s.unread, h)
}

// overdue returns the tickets whose time is over.
func (s *Store) overdue() (list []record.BlobTicket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for t, x := range s.tickets {
		if now.After(x.until) {
			list = append(list, t)
		}
	}
	return list
}

// catchUp gets what the state names and this head lacks. It reports false when something is still to come.
func (s *Store) catchUp(ctx context.Context) bool {
	var work sync.WaitGroup
	var missed atomic.Bool
	places := make(chan struct{}, atOnce)
	for _, b := range s.lacking() {
		places <- struct{}{}
		work.Go(func() {
			if !s.bring(ctx, b) {
				missed.Store(true)
			}
			<-places
		})
	}
	work.Wait()
	return !missed.Load()
}

// bring gets a value that this head lacks. It reports false when the value is still to come.
func (s *Store) bring(ctx context.Context, b record.Blob) bool {
	err := s.obtain(ctx, b)
	switch {
	case err == nil:
	case errors.Is(err, record.ErrBlobLost):
		if s.isLost(b.Hash) {
			s.o.Log.Error("a large value of the cluster's state is lost", "value", b.Hash, "bytes", b.Size)
		}
	case ctx.Err() == nil:
		s.o.Log.Warn("this head lacks a large value of the cluster's state; it is tried again", "value", b.Hash, "error", err)
		return false
	}
	return true
}

// isLost notes that no head has a value. It reports whether that is new.
func (s *Store) isLost(h record.BlobHash) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first = !s.lost[h]
	s.lost[h] = true
	return first
}

// lacking returns what the state names and this head does not have.
func (s *Store) lacking() (list []record.Blob) {
	named := s.state.Blobs()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range named {
		if s.have[b.Hash] != b.Size || s.bad[b.Hash] || s.unread[b.Hash] {
			list = append(list, b)
		}
	}
	return list
}

// Lacks returns how many of the values that the state names now this head is still to get from others. Values that no head has do not count.
func (s *Store) Lacks() (n int) {
	if !s.begun() {
		return 1 // nobody knows yet
	}
	list := s.lacking()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range list {
		if !s.lost[b.Hash] {
			n++
		}
	}
	return n
}

// Get returns a value. If it is not here, or damaged, it is got from another head first.
func (s *Store) Get(ctx context.Context, b record.Blob) ([]byte, error) {
	if err := b.Check(); err != nil {
		return nil, err
	}
	for {
		data, here := s.local(b)
		if here == nil {
			return data, nil
		}
		err := s.obtain(ctx, b)
		switch {
		case errors.Is(err, record.ErrBlobLost):
			return nil, fmt.Errorf("%s: %w (here: %w)", b, err, here)
		case err == nil:
			continue
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s is not here, and the other heads do not give it: %w (%w)", b, err, ctx.Err())
		case <-s.ctx.Done():
			return nil, errClosed
		case <-time.After(lookSoon / 10):
		}
	}
}
