package inquiry

import (
	"context"
	"sync"
	"time"
)

// Patience is how long the head may leave a process without any answer. It is much longer than a
// change of the leader takes.
const Patience = 60 * time.Second

// maxQueued is how many requests of one process wait for the head before
// nothing more is read from it.
const maxQueued = 20_000

// Queue serves the requests of one process to the head one after the other, on a goroutine that
// lives while there are any: they keep their order and do not hold up the process's connection,
// unless they are very many. The zero Queue is empty and ready.
type Queue struct {
	mu       sync.Mutex
	room     sync.Cond
	list     []request
	running  bool
	answered time.Time // when a request was last served in time; known to the queue's goroutine
}

// request is one that waits.
type request struct {
	ctx     context.Context // of all that its daemon does
	arrived time.Time
	serve   func(context.Context)
}

// Add has a request served when those before it have been. The context that serve gets ends with
// ctx, or when the head has let the process wait for too long.
func (q *Queue) Add(ctx context.Context, serve func(context.Context)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.list) >= maxQueued {
		q.room.L = &q.mu
		q.room.Wait()
	}
	q.list = append(q.list, request{ctx, time.Now(), serve})
	if !q.running {
		q.running = true
		go q.run()
	}
}

func (q *Queue) run() {
	for r, ok := q.next(); ok; r, ok = q.next() {
		q.serve(r)
	}
}

// serve serves one request, and notes when that was in time.
func (q *Queue) serve(r request) {
	since := r.arrived
	if q.answered.After(since) {
		since = q.answered
	}
	ctx, cancel := context.WithDeadline(r.ctx, since.Add(Patience))
	defer cancel()
	r.serve(ctx)
	if ctx.Err() == nil {
		q.answered = time.Now()
	}
}

// next takes the first request out of the queue. It reports false when there is none, and
// then the queue has no goroutine any more.
func (q *Queue) next() (r request, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.list) == 0 {
		q.running = false
		q.list = nil // a queue that was long once keeps no memory for that
		return r, false
	}
	r = q.list[0]
	q.list[0] = request{} // what it holds goes with it
	q.list = q.list[1:]
	if len(q.list) < maxQueued/2 {
		q.room.Broadcast()
	}
	return r, true
}
