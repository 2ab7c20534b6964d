package ring

import (
	"context"
	"sync"

	"github.com/eagleray/eagleray/core/record"
)

// Ring keeps the latest events and wakes the callers that wait for more. It has its own lock,
// which may be taken under any other. An event is in the ring only after the state shows it.
type Ring struct {
	mu      sync.Mutex
	size    uint64         // of events, once it is full
	events  []record.Event // event n lies at n-base modulo size
	base    uint64
	first   uint64 // oldest kept; last+1 when none is
	last    uint64
	epoch   uint64 // counts changes of leading, from 1
	leading bool
	closed  bool
	wake    chan struct{} // closed at the next change; nil while nobody waits
}

// maxBatch caps the events that one Watch returns.
const maxBatch = 256

// New returns a ring that keeps so many events.
func New(size int) *Ring {
	return &Ring{size: uint64(size), base: 1, first: 1, epoch: 1}
}

// changed wakes the waiters; the lock is held.
func (r *Ring) changed() {
	if r.wake != nil {
		close(r.wake)
		r.wake = nil
	}
}

// Add appends events, which continue the last number.
func (r *Ring) Add(events []record.Event) {
	if len(events) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range events {
		if at := (e.Seq - r.base) % r.size; at < uint64(len(r.events)) {
			r.events[at] = e
		} else {
			r.events = append(r.events, e)
		}
		r.last = e.Seq
	}
	if r.last-r.first >= r.size {
		r.first = r.last - r.size + 1
	}
	r.changed()
}

// Reset forgets all events: the state now comes from a snapshot.
func (r *Ring) Reset(seq uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = nil
	r.base, r.first, r.last = seq+1, seq+1, seq
	r.changed()
}

// Lead notes whether this member leads.
func (r *Ring) Lead(leading bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if leading || r.leading { // when this member leads again, another one may have led in between
		r.leading = leading
		r.epoch++
		r.changed()
	}
}

// Leads reports whether this member leads, and its state is whole.
func (r *Ring) Leads() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.leading
}

// Len returns how many events are kept.
func (r *Ring) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.events)
}

// Close ends all watches.
func (r *Ring) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.changed()
}

// Watch waits for something after the cursor.
func (r *Ring) Watch(ctx context.Context, from record.Cursor) (record.Batch, error) {
	for {
		b, wake, err := r.poll(from)
		if err != nil || wake == nil {
			return b, err
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return record.Batch{Next: from}, ctx.Err()
		}
	}
}

// poll returns what there is after the cursor, or a channel to wait on.
func (r *Ring) poll(from record.Cursor) (record.Batch, <-chan struct{}, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return record.Batch{Next: from}, nil, record.ErrClosed
	case from.Seq+1 < r.first || from.Seq > r.last:
		return record.Batch{Next: from}, nil, record.ErrCompacted
	case from.Seq == r.last && from.Epoch == r.epoch:
		if r.wake == nil {
			r.wake = make(chan struct{})
		}
		return record.Batch{}, r.wake, nil
	}
	n := min(r.last-from.Seq, maxBatch)
	b := record.Batch{Leading: r.leading, Next: record.Cursor{Seq: from.Seq + n, Epoch: r.epoch}}
	for seq := from.Seq + 1; seq <= from.Seq+n; seq++ {
		b.Events = append(b.Events, r.events[(seq-r.base)%r.size])
	}
	return b, nil, nil
}
