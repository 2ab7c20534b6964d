package answered

import (
	"cmp"
	"slices"
)

// answer is the result of one request.
type answer[R any] struct {
	seq    uint64
	result R
}

// results holds what is kept of one client's results.
type results[R any] struct {
	list []answer[R] // in the order of the requests' numbers
	gone int         // the room of so many is left in front of list
}

func (t *results[R]) len() int { return len(t.list) }

func (t *results[R]) place(seq uint64) (at int, known bool) {
	return slices.BinarySearchFunc(t.list, seq, func(x answer[R], seq uint64) int { return cmp.Compare(x.seq, seq) })
}

func (t *results[R]) find(seq uint64) (result R, known bool) {
	at, known := t.place(seq)
	if known {
		result = t.list[at].result
	}
	return result, known
}

// add adds the result of a request that is not known. Most requests have the highest number so far.
func (t *results[R]) add(seq uint64, r R) {
	at, n := len(t.list), cap(t.list)
	if at > 0 && t.list[at-1].seq > seq {
		at, _ = t.place(seq)
	}
	t.list = slices.Insert(t.list, at, answer[R]{seq, r})
	if cap(t.list) != n {
		t.gone = 0 // it has moved
	}
}

// smallRoom is the room that is kept when all its results have gone: nearly all clients have so few requests at a time.
const smallRoom = 8

// drop drops the results of all requests below a number, and returns how many these were. The room of what was
// dropped is given back before it is larger than that of the rest.
func (t *results[R]) drop(below uint64) int {
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
