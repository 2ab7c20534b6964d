// Package inturn carries out functions one after the other, on a goroutine that is there while there are some. raftstate waits with it for raft's answers: a future of
// raft can only be waited for, answers come in the order of the log, and a goroutine for each of them would be woken for each.
package inturn

import "sync"

// Queue has functions that are to be carried out. The zero value is ready.
type Queue struct {
	mu      sync.Mutex
	waiting []func()
	busy    bool // the goroutine is there
}

// Add has a function carried out behind those that were added before. It never waits.
func (q *Queue) Add(do func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, do)
	if !q.busy {
		q.busy = true
		go q.run()
	}
}

func (q *Queue) run() {
	for list := q.take(nil); list != nil; list = q.take(list) {
		for _, do := range list {
			do()
		}
	}
}

// maxKept is how much room is kept when the queue was long.
const maxKept = 1024

// take returns what waits now, in the room of the list before. If nothing waits it returns nil, and the goroutine ends.
func (q *Queue) take(before []func()) (list []func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.busy, q.waiting = false, nil
		return nil
	}
	clear(before)
	if cap(before) > maxKept {
		before = nil
	}
	list, q.waiting = q.waiting, before[:0]
	return list
}
