package raftstate

import (
	"bytes"
	"errors"
	"testing"
)

// A clone and what it was made of change independently, at every limit, also
// when each is full.
func TestResults_Clone_ChangesIndependently(t *testing.T) {
	for limit := 1; limit <= 17; limit++ {
		a := results{limit: limit}
		id := func(n int) RequestID { return RequestID{Client{byte(n)}, uint64(n)} }
		for n := range limit {
			a.add(id(n), Result{Index: uint64(n)})
		}
		if n := len(a.places); n < 2*limit || n >= 4*limit {
			t.Errorf("limit %d: a table of %d places, want room for twice the limit, rounded up to a power of two", limit, n)
		}
		b := a.clone()
		for n := limit; n < 3*limit; n++ {
			if old, full := b.add(id(n), Result{Index: uint64(n)}); !full || old != id(n-limit) {
				t.Fatalf("limit %d: %v was forgotten (%v), want %v", limit, old, full, id(n-limit))
			}
		}
		for n := range 3 * limit {
			ra, inA := a.find(id(n))
			rb, inB := b.find(id(n))
			if inA != (n < limit) || inA && ra.Index != uint64(n) {
				t.Errorf("limit %d: the original has request %d: %v, %v", limit, n, ra, inA)
			}
			if inB != (n >= 2*limit) || inB && rb.Index != uint64(n) {
				t.Errorf("limit %d: the clone has request %d: %v, %v", limit, n, rb, inB)
			}
		}
	}
}

// sink is a snapshot's file that takes so many bytes.
type sink struct {
	bytes.Buffer
	most             int
	closed, canceled bool
}

var errFull = errors.New("the disk is full")

func (s *sink) Write(b []byte) (int, error) {
	if s.Len()+len(b) > s.most {
		return 0, errFull
	}
	return s.Buffer.Write(b)
}
func (s *sink) ID() string    { return "s" }
func (s *sink) Close() error  { s.closed = true; return nil }
func (s *sink) Cancel() error { s.canceled = true; return nil }

// A snapshot that cannot be written whole is cancelled, so that nobody takes it for one.
func TestFrozen_Persist_CannotBeWritten_IsCancelled(t *testing.T) {
	m := openLone(t)
	var machine *Machine
	m.fsm.view(func(x *Machine) { machine = x })
	full := &sink{}
	if err := (frozen{machine}).Persist(full); !errors.Is(err, errFull) || !full.canceled || full.closed {
		t.Errorf("got %v, cancelled %v, closed %v", err, full.canceled, full.closed)
	}
	good := &sink{most: 1 << 20}
	if err := (frozen{machine}).Persist(good); err != nil || good.canceled || !good.closed || good.Len() == 0 {
		t.Errorf("got %v, cancelled %v, closed %v", err, good.canceled, good.closed)
	}
	none := &sink{}
	if err := (frozen{}).Persist(none); err != nil || !none.closed || none.Len() != 0 {
		t.Errorf("got %v, closed %v", err, none.closed)
	}
}
