package client

// fifo is a queue of tasks. A task knows its place in it, so that it can be taken out
// without a search: the cost of many cancellations grows with their number, not
// with its square. When a task was taken out its slot stays, empty.
type fifo struct {
	items []*task
	head  int   // the first task; never an empty slot while there is a task
	empty int   // slots behind head without a task
	shift int64 // the place of items[0]
}

// manyEmpty is how many empty slots may stay, however short the queue is.
const manyEmpty = 1024

func (q *fifo) len() int { return len(q.items) - q.head - q.empty }

func (q *fifo) push(t *task) {
	t.place = q.shift + int64(len(q.items))
	q.items = append(q.items, t)
}

func (q *fifo) pushFront(ts []*task) {
	if q.head >= len(ts) {
		q.head -= len(ts)
		copy(q.items[q.head:], ts)
	} else {
		rest := q.items[q.head:]
		q.shift += int64(q.head - len(ts))
		q.items = append(append(make([]*task, 0, len(ts)+len(rest)), ts...), rest...)
		q.head = 0
	}
	for i, t := range ts {
		t.place = q.shift + int64(q.head+i)
	}
}

// eachWhile calls f with the tasks, in order, until it returns false.
func (q *fifo) eachWhile(f func(*task) bool) {
	for _, t := range q.items[q.head:] {
		if t != nil && !f(t) {
			return
		}
	}
}

// first returns the task that pop would; there is one.
func (q *fifo) first() *task { return q.items[q.head] }

func (q *fifo) pop() *task {
	t := q.items[q.head]
	q.items[q.head] = nil
	q.head++
	q.tidy()
	return t
}

// remove takes a task out, and reports whether it was in this queue.
func (q *fifo) remove(t *task) bool {
	i := t.place - q.shift
	if i < int64(q.head) || i >= int64(len(q.items)) || q.items[i] != t {
		return false
	}
	q.items[i] = nil
	q.empty++
	q.tidy()
	return true
}

// tidy moves head to the first task and gives memory back.
func (q *fifo) tidy() {
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
	case q.empty > manyEmpty && q.empty*2 > n-q.head:
		k := q.head
		for _, t := range q.items[q.head:] {
			if t != nil {
				t.place = q.shift + int64(k)
				q.items[k] = t
				k++
			}
		}
		clear(q.items[k:])
		q.items, q.empty = q.items[:k], 0
	}
}

// each calls f with every task, in order.
func (q *fifo) each(f func(*task)) {
	for _, t := range q.items[q.head:] {
		if t != nil {
			f(t)
		}
	}
}
