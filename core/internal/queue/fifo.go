package queue

// FIFO is a queue out of whose middle elements can be taken without a search: the cost
// of many removals grows with their number, not with its square. Each element has a
// place, which its owner keeps. When an element was removed its slot stays, empty. The
// zero value is empty and ready.
type FIFO[T any] struct {
	items []*T
	head  int   // the first element; never an empty slot while there is an element
	empty int   // slots behind head without an element
	shift int64 // the place of items[0]
}

// manyEmpty is how many empty slots may stay, however short the queue is.
const manyEmpty = 1024

// Len returns how many elements there are.
func (q *FIFO[T]) Len() int { return len(q.items) - q.head - q.empty }

// Push adds an element at the end and returns its place.
func (q *FIFO[T]) Push(t *T) (place int64) {
	place = q.shift + int64(len(q.items))
	q.items = append(q.items, t)
	return place
}

// PushFront adds elements in front of all others and returns the place of the first of
// them. The places of the others follow.
func (q *FIFO[T]) PushFront(ts []*T) (first int64) {
	if q.head >= len(ts) {
		q.head -= len(ts)
		copy(q.items[q.head:], ts)
	} else {
		rest := q.items[q.head:]
		q.shift += int64(q.head - len(ts))
		q.items = append(append(make([]*T, 0, len(ts)+len(rest)), ts...), rest...)
		q.head = 0
	}
	return q.shift + int64(q.head)
}

// While calls f with the elements, in order, until it returns false.
func (q *FIFO[T]) While(f func(*T) bool) {
	for _, t := range q.items[q.head:] {
		if t != nil && !f(t) {
			return
		}
	}
}

// First returns the element that Pop would return. The queue is not empty.
func (q *FIFO[T]) First() *T { return q.items[q.head] }

// Pop takes the first element out and returns it. The queue is not empty.
func (q *FIFO[T]) Pop() *T {
	t := q.items[q.head]
	q.items[q.head] = nil
	q.head++
	q.tidy()
	return t
}

// Remove takes an element out that was given this place, and reports whether it was in
// this queue. Now and then it gives the other elements new places: moved is told of each.
func (q *FIFO[T]) Remove(t *T, place int64, moved func(t *T, place int64)) bool {
	i := place - q.shift
	if i < int64(q.head) || i >= int64(len(q.items)) || q.items[i] != t {
		return false
	}
	q.items[i] = nil
	q.empty++
	q.tidy()
	if q.empty > manyEmpty && q.empty*2 > len(q.items)-q.head {
		q.compact(moved)
	}
	return true
}

// tidy moves head to the first element and gives memory back.
func (q *FIFO[T]) tidy() {
	for q.head < len(q.items) && q.items[q.head] == nil {
		q.head++
		q.empty--
	}
	switch n := len(q.items); {
	case q.head == n:
		q.shift += int64(n)
		q.items, q.head = q.items[:0], 0
		if cap(q.items) > 4096 {
			q.items = nil
		}
	case q.head > 4096 && q.head*2 > n:
		q.shift += int64(q.head)
		k := copy(q.items, q.items[q.head:])
		clear(q.items[k:])
		q.items, q.head = q.items[:k], 0
	}
}

// compact closes the gaps of elements that were removed.
func (q *FIFO[T]) compact(moved func(t *T, place int64)) {
	k := q.head
	for _, t := range q.items[q.head:] {
		if t != nil {
			q.items[k] = t
			moved(t, q.shift+int64(k))
			k++
		}
	}
	clear(q.items[k:])
	q.items, q.empty = q.items[:k], 0
}

// Each calls f with every element, in order.
func (q *FIFO[T]) Each(f func(*T)) {
	for _, t := range q.items[q.head:] {
		if t != nil {
			f(t)
		}
	}
}
