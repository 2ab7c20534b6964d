package daemon

import "sync"

// queue runs functions one after the other on a goroutine that lives while
// there are any: requests of one process to the head keep their order and do
// not hold up its connection, unless they are very many.
type queue struct {
	mu      sync.Mutex
	room    sync.Cond
	list    []func()
	running bool
}

// maxQueued is how many requests of one process wait for the head before
// nothing more is read from it.
const maxQueued = 20_000

func (q *queue) add(f func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.list) >= maxQueued {
		q.room.L = &q.mu
		q.room.Wait()
	}
	q.list = append(q.list, f)
	if !q.running {
		q.running = true
		go q.run()
	}
}

func (q *queue) run() {
	for f := q.next(); f != nil; f = q.next() {
		f()
	}
}

// next takes the first function out of the queue. It returns nil when there is none, and
// then the queue has no goroutine any more.
func (q *queue) next() func() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.list) == 0 {
		q.running = false
		return nil
	}
	f := q.list[0]
	q.list = q.list[1:]
	if len(q.list) < maxQueued/2 {
		q.room.Broadcast()
	}
	return f
}
