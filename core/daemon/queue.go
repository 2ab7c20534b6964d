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
	for {
		q.mu.Lock()
		if len(q.list) == 0 {
			q.running = false
			q.mu.Unlock()
			return
		}
		f := q.list[0]
		q.list = q.list[1:]
		if len(q.list) < maxQueued/2 {
			q.room.Broadcast()
		}
		q.mu.Unlock()
		f()
	}
}
