package raftstate

import (
	"cmp"
	"slices"
)

// answered is the result of one request.
type answered struct {
	seq    uint64
	result Result
}

// results holds what is kept of one client's results.
type results struct {
	list []answered // in the order of the requests' numbers
	gone int        // the room of so many is left in front of list
}

func (t *results) len() int { return len(t.list) }

func (t *results) place(seq uint64) (at int, known bool) {
	return slices.BinarySearchFunc(t.list, seq, func(x answered, seq uint64) int { return cmp.Compare(x.seq, seq) })
}

func (t *results) find(seq uint64) (Result, bool) {
	at, known := t.place(seq)
	if !known {
		return Result{}, false
	}
	return t.list[at].result, true
}

// add adds the result of a request that is not known. Most requests have the highest number so far.
func (t *results) add(seq uint64, r Result) {
	at, n := len(t.list), cap(t.list)
	if at > 0 && t.list[at-1].seq > seq {
		at, _ = t.place(seq)
	}
	t.list = slices.Insert(t.list, at, answered{seq, r})
	if cap(t.list) != n {
		t.gone = 0 // it has moved
	}
}

// smallRoom is the room that is kept when all its results have gone: nearly all clients have so few requests at a time.
const smallRoom = 8

// drop drops the results of all requests below a number, and returns how many these were. The room of what was
// dropped is given back before it is larger than that of the rest.
func (t *results) drop(below uint64) int {
	n, _ := t.place(below)
	rest := t.list[n:]
	switch t.gone += n; {
	case t.gone == 0:
	case t.gone+cap(rest) <= smallRoom:
		t.list, t.gone = t.list[:copy(t.list, rest)], t.gone-n
	case t.gone > len(rest):
		t.list, t.gone = slices.Clone(rest), 0
	default:
		t.list = rest
	}
	return n
}
