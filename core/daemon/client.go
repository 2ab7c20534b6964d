package daemon

import (
	"slices"
	"sync"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/resource"
	"github.com/eagleray/eagleray/core/sched"
	"github.com/eagleray/eagleray/core/wire"
	"github.com/eagleray/eagleray/core/workers"
)

// client is one connected process. Its fields are guarded by the daemon's
// lock, but for those set before the connection is served.
type client struct {
	id     sched.ClientID
	role   string
	pid    int
	peer   *wire.Peer
	self   ids.Worker       // drivers, services and workers
	addr   string           // the socket at which it listens
	proc   *workers.Process // of a driver or service; a worker's is the worker's
	worker *worker          // role worker
	heirOf *client          // role heir, until it has taken over
	former ids.Owner        // what a worker was before its heir took over: it may have said things before

	inherited bool // of an heir: the worker that it follows outlives its driver, see outlive.go

	job  *job // nil for a driver before JobStart, and for the CLI
	gone bool

	classes map[sched.ClassID]class // of its tasks that want GPUs

	codeFor map[ids.Actor]bool // actors that are not registered, for which it has brought a class

	tasks       queue             // requests to the head, in order
	cancels     map[uint64]func() // of actors that it waits for
	lastResolve uint64
}

// class is what the daemon keeps of a scheduling class beside what the
// scheduler knows.
type class struct {
	name    string
	enforce bool
}

// define keeps what it must of a class; the daemon's lock is held.
func (c *client) define(id sched.ClassID, q *wire.ClassDefine) {
	wants := func(r map[string]int64) bool { return r[resource.GPU] > 0 || r[resource.GPUMemory] > 0 }
	if !wants(q.Resources) && !slices.ContainsFunc(q.Fallback, func(a wire.Alternative) bool { return wants(a.Resources) }) {
		return
	}
	if c.classes == nil {
		c.classes = make(map[sched.ClassID]class)
	}
	c.classes[id] = class{q.Name, q.Enforce}
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
