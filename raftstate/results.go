package raftstate

import (
	"encoding/binary"
	"iter"
	"math/bits"
	"slices"
)

// results holds the results of the latest requests, up to a number of them. It
// takes all its memory with the first one, so that it never grows: a map whose
// keys come and go doubles one day.
type results struct {
	limit  int        // fewer than 1<<15
	kept   []answered // in log order; once full a ring
	oldest int        // where the ring begins
	// places has, by a request's hash, one more than where it is in kept; 0:
	// nothing. What collides lies behind, without a gap.
	places []uint16
	shift  int // of a hash to an index of places
}

type answered struct {
	id     RequestID
	result Result
}

// home is where a request would lie if it were alone.
func (t *results) home(id RequestID) int {
	h := binary.LittleEndian.Uint64(id.Client[:]) ^ id.Seq
	return int(h * 0x9e3779b97f4a7c15 >> t.shift)
}

// place returns where in places the request is, or would be put.
func (t *results) place(id RequestID) (at int, known bool) {
	for at = t.home(id); t.places[at] != 0; at = t.after(at) {
		if t.kept[t.places[at]-1].id == id {
			return at, true
		}
	}
	return at, false
}

func (t *results) after(at int) int { return (at + 1) % len(t.places) }

func (t *results) find(id RequestID) (Result, bool) {
	if t.kept == nil {
		return Result{}, false
	}
	at, known := t.place(id)
	if !known {
		return Result{}, false
	}
	return t.kept[t.places[at]-1].result, true
}

// add appends the result of a request that is not known. When there is no room
// it forgets the oldest, which it returns.
func (t *results) add(id RequestID, r Result) (old RequestID, full bool) {
	if t.kept == nil {
		width := bits.Len(uint(2*t.limit - 1))
		t.kept, t.places, t.shift = make([]answered, 0, t.limit), make([]uint16, 1<<width), 64-width
	}
	n := len(t.kept)
	if full = n == t.limit; full {
		n = t.oldest
		old = t.kept[n].id
		t.remove(old)
		t.oldest = (n + 1) % len(t.kept)
		t.kept[n] = answered{id, r}
	} else {
		t.kept = append(t.kept, answered{id, r})
	}
	at, _ := t.place(id)
	t.places[at] = uint16(n + 1)
	return old, full
}

// remove takes a request out of places; what lay behind it for want of room
// moves up.
func (t *results) remove(id RequestID) {
	gap, known := t.place(id)
	if !known {
		return
	}
	for at := t.after(gap); t.places[at] != 0; at = t.after(at) {
		home := t.home(t.kept[t.places[at]-1].id)
		// It may move to the gap unless its home lies between the two.
		if span := len(t.places) - 1; (at-home)&span >= (at-gap)&span {
			t.places[gap], gap = t.places[at], at
		}
	}
	t.places[gap] = 0
}

// all goes through the results in log order.
func (t *results) all() iter.Seq2[RequestID, Result] {
	return func(yield func(RequestID, Result) bool) {
		for i := range t.kept {
			if x := &t.kept[(t.oldest+i)%len(t.kept)]; !yield(x.id, x.result) {
				return
			}
		}
	}
}

func (t *results) clone() results {
	c := *t
	if t.kept != nil {
		c.kept = append(make([]answered, 0, t.limit), t.kept...)
		c.places = slices.Clone(t.places)
	}
	return c
}
