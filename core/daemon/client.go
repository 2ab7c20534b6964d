package daemon

import (
	"sync"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/sched"
	"github.com/eagleray/eagleray/core/wire"
)

// client is one connected process. Its fields are guarded by the daemon's
// lock, but for those set before the connection is served.
type client struct {
	id     sched.ClientID
	role   string
	pid    int
	peer   *wire.Peer
	self   ids.Worker // drivers, services and workers
	addr   string     // the socket at which it listens
	proc   *process   // of a driver or service; a worker's is the worker's
	worker *worker    // role worker
	heirOf *client    // role heir, until it has taken over

	job  *job // nil for a driver before JobStart, and for the CLI
	gone bool

	tasks       queue             // requests to the head, in order
	cancels     map[uint64]func() // of actors that it waits for
	lastResolve uint64
}

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
