package blobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/internal/patient"
	"github.com/eagleray/eagleray/core/record"
)

const (
	dialLimit = 5 * time.Second
	sendLimit = 60 * time.Second // a value on its way to or from another head
	putLimit  = 30 * time.Second // for a majority to have a value
	slow      = time.Second      // a head whose answer fails after so long is not asked for values for awayFor
	awayFor   = 2 * dialLimit
)

// Put writes a value to the disks of the heads. It returns when a majority of those with a vote have it. The value stays at least until Applied has the ticket, or the
// grace time is over.
func (s *Store) Put(ctx context.Context, value []byte) (record.HeldBlob, error) {
	x := record.HeldBlob{Blob: record.BlobOf(value), Ticket: newTicket()}
	if err := x.Blob.Check(); err != nil {
		return x, err
	}
	if s.room(x.Blob) != nil && s.begun() { // what nothing names any more makes room
		s.sweep(ctx)
	}
	if err := s.begin(x); err != nil {
		return x, err
	}
	if err := s.spread(ctx, x, value); err != nil {
		s.drop(x.Ticket)
		s.poke()
		return x, err
	}
	return x, nil
}

// said is what became of a value at one head.
type said struct {
	head  uint32
	here  bool // that is this head
	votes bool
	err   error
}

// spread brings a value to this head's disk and to the others. The heads that are late get it later.
func (s *Store) spread(ctx context.Context, x record.HeldBlob, value []byte) error {
	list, votes := s.o.Others.Heads()
	need := s.o.Others.Majority()
	came := make(chan said, len(list)+1)
	for _, h := range list {
		if !s.goWork(func() { came <- said{head: h.Number, votes: h.Voter, err: s.send(h.Number, x, value)} }) {
			return errClosed
		}
	}
	if !s.goWork(func() { came <- said{here: true, votes: votes, err: s.keep(x.Blob, bytes.NewReader(value))} }) {
		return errClosed
	}
	ctx, cancel := context.WithTimeout(ctx, putLimit)
	defer cancel()
	var why error
	have := 0
	for left := len(list) + 1; have < need; left-- {
		if left == 0 {
			return lacksMajority(x.Blob, need, have, why)
		}
		select {
		case a := <-came:
			switch {
			case a.err != nil && a.here:
				why = a.err // says most about what to do
			case a.err != nil:
				s.o.Log.Warn("another head does not have a large value yet", "head", a.head, "value", x.Blob.Hash, "error", a.err)
				if why == nil {
					why = fmt.Errorf("head %d: %w", a.head, a.err)
				}
			case a.votes:
				have++
			}
		case <-ctx.Done():
			if why == nil {
				why = ctx.Err()
			}
			return lacksMajority(x.Blob, need, have, why)
		case <-s.ctx.Done():
			return errClosed
		}
	}
	return nil
}

func lacksMajority(b record.Blob, need, have int, why error) error {
	if need == 1 {
		return why
	}
	return fmt.Errorf("%d heads with a vote have to keep %s, and %d do: %w", need, b, have, why)
}

// keep writes a value that comes from a reader, unless it is here and right.
func (s *Store) keep(b record.Blob, r io.Reader) error {
	if s.has(b) {
		if _, err := s.local(b); err == nil {
			return s.syncFolder() // whoever has written the file may not have come so far
		}
	}
	return s.install(b, func(w io.Writer) error { _, err := io.Copy(w, r); return err })
}

// send has another head keep a value.
func (s *Store) send(number uint32, x record.HeldBlob, value []byte) error {
	return s.with(number, func(c net.Conn) error { return offer(c, x, value) })
}

// TalksAtOnce is how many conversations with one head there are at a time. More of them wait for a place.
const TalksAtOnce = 4

// errNoPlace says that a conversation has waited for a place, in vain.
var errNoPlace = errors.New("too many large values are on their way to or from it")

// place takes a place for a conversation with a head, and returns how it is given back. It waits for putLimit at most, and for a head that has not answered not so long: each
// value that waits for it takes memory.
func (s *Store) place(number uint32) (giveBack func(), err error) {
	places, limit := s.placesOf(number)
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	case <-late.C:
		return nil, errNoPlace
	case <-s.ctx.Done():
		return nil, errClosed
	}
}

func (s *Store) placesOf(number uint32) (places chan struct{}, limit time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.places[number] == nil {
		s.places[number] = make(chan struct{}, TalksAtOnce)
	}
	if time.Now().Before(s.away[number]) {
		return s.places[number], dialLimit
	}
	return s.places[number], putLimit
}

// with has a conversation with another head when there is a place for it, and notes whether the head has answered.
func (s *Store) with(number uint32, talk func(net.Conn) error) error {
	giveBack, err := s.place(number)
	if err != nil {
		return err
	}
	defer giveBack()
	begun := time.Now()
	err = s.talk(number, talk)
	s.heard(number, err, time.Since(begun))
	return err
}

// talk has a conversation with another head, for sendLimit at most.
func (s *Store) talk(number uint32, talk func(net.Conn) error) error {
	ctx, cancel := context.WithTimeout(s.ctx, sendLimit)
	defer cancel()
	c, err := s.dial(ctx, number)
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	return talk(patient.New(c, stall))
}

func (s *Store) dial(ctx context.Context, number uint32) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	return s.o.Others.Dial(ctx, number)
}

// fetching is an attempt to get a value from other heads.
type fetching struct {
	ready chan struct{} // closed when err is set
	err   error
}

// obtain gets a value from another head. All that want it at the same time share one attempt. record.ErrBlobLost means that all others were asked and lack it.
func (s *Store) obtain(ctx context.Context, b record.Blob) error {
	f, err := s.fetch(b)
	if err != nil {
		return err
	}
	select {
	case <-f.ready:
		return f.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Store) fetch(b record.Blob) (*fetching, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.comes[b.Hash]; f != nil {
		return f, nil
	}
	if s.closed {
		return nil, errClosed
	}
	f := &fetching{ready: make(chan struct{})}
	s.comes[b.Hash] = f
	s.work.Go(func() {
		f.err = s.search(b)
		s.came(b.Hash)
		close(f.ready)
	})
	return f, nil
}

func (s *Store) came(h record.BlobHash) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.comes, h)
}

// search asks the other heads for a value, one after the other. A value whose file is here and cannot be read is not lost, whatever they say.
func (s *Store) search(b record.Blob) error {
	var why error
	if s.has(b) { // it has come just now, or can be read again
		_, err := s.local(b)
		if err == nil {
			return nil
		}
		if !gone(err) {
			why = err
		}
	}
	ask, away := s.inTurn()
	for _, number := range ask {
		err := s.copy(number, b)
		switch {
		case err == nil:
			s.hasGiven(number)
			return nil
		case !errors.Is(err, errMissing):
			why = fmt.Errorf("head %d: %w", number, err)
		}
	}
	if why == nil && len(away) > 0 {
		why = fmt.Errorf("head %d: it did not answer within %v, and is asked again after %v", away[0], slow, awayFor)
	}
	if why == nil {
		return record.ErrBlobLost
	}
	return why
}

// inTurn returns the other heads in the order in which they are asked for a value, the one first that has given the last one, and those that are not asked for a while:
// their machines may be off, and each attempt would take dialLimit.
func (s *Store) inTurn() (ask, away []uint32) {
	list, _ := s.o.Others.Heads()
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for _, h := range list {
		switch {
		case now.Before(s.away[h.Number]):
			away = append(away, h.Number)
		case h.Number == s.gave:
			ask = slices.Insert(ask, 0, h.Number)
		default:
			ask = append(ask, h.Number)
		}
	}
	return ask, away
}

// heard notes whether a head has answered.
func (s *Store) heard(number uint32, err error, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.away, number)
	if err != nil && took >= slow && !errors.Is(err, errMissing) {
		s.away[number] = time.Now().Add(awayFor)
	}
}

// hasGiven notes that a head has given a value.
func (s *Store) hasGiven(number uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gave = number
}

// copy gets a value from one head.
func (s *Store) copy(number uint32, b record.Blob) error {
	return s.with(number, func(c net.Conn) error {
		if err := ask(c, b); err != nil {
			return err
		}
		return s.install(b, func(w io.Writer) error { return receiveTo(c, w, b.Size) })
	})
}
