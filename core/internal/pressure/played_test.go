package pressure

import (
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/machine"
	"github.com/eagleray/eagleray/core/internal/workers"
)

// node plays a node to the memory watch: its figures and its workers. Each worker has one
// process, whose id is the worker's.
type node struct {
	t     *testing.T
	began time.Time
	log   strings.Builder
	stop  chan struct{}

	mu      sync.Mutex
	room    uint64
	others  uint64 // memory of processes that are no workers
	kills   uint64
	asked   int // how often the kills were read
	views   map[uint64]View
	bytes   map[uint64]uint64
	dies    time.Duration            // from the end of a worker to the end of its process
	changes func(n *node, id uint64) // before a worker is ended
	events  []event
	looks   []time.Duration // when the levels were read
	exact   int             // how often an exact number was read
}

// event is that a worker was ended, at a time since the beginning.
type event struct {
	at    time.Duration
	id    uint64
	exact bool
	why   Ending
}

func newNode(t *testing.T, room uint64) *node {
	return &node{t: t, began: time.Now(), stop: make(chan struct{}), room: room, views: make(map[uint64]View), bytes: make(map[uint64]uint64)}
}

// watch returns a watch over the node.
func (n *node) watch(o Options) *MemoryWatch {
	log := slog.New(slog.NewTextHandler(&n.log, nil))
	return NewMemoryWatch(MemoryConfig{Options: o, Node: "node here", Figures: n, Workers: n, Log: log, Stop: n.stop})
}

// task adds a worker that runs a task.
func (n *node) task(id uint64, name string, bytes uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.views[id] = View{ID: id, Pid: int(id), Work: Work{Client: 1, Name: name, Since: time.Now()}}
	n.bytes[id] = bytes
}

func (n *node) Levels() []machine.Level {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.looks = append(n.looks, time.Since(n.began))
	used := n.others
	for _, b := range n.bytes {
		used += b
	}
	return []machine.Level{{Name: "the machine", Anon: used, Room: n.room}}
}

func (n *node) Kills() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked++
	return n.kills
}

func (n *node) Processes() []workers.ProcStat {
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []workers.ProcStat
	for id := range n.bytes {
		list = append(list, workers.ProcStat{Pid: int(id), State: 'S'})
	}
	return list
}

func (n *node) Anonymous(pid int, exact bool) uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	if exact {
		n.exact++
	}
	return n.bytes[uint64(pid)]
}

func (n *node) Command(int) string { return "prog" }

func (n *node) List() []View {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Collect(maps.Values(n.views))
}

func (n *node) End(w Worker, exact bool, why Ending) (<-chan struct{}, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.changes != nil {
		n.changes(n, w.ID)
	}
	v, there := n.views[w.ID]
	if there && !w.Work.Same(v.Work, exact) {
		return nil, false
	}
	n.events = append(n.events, event{time.Since(n.began), w.ID, exact, why})
	delete(n.views, w.ID)
	gone := make(chan struct{})
	time.AfterFunc(n.dies, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.bytes, w.ID)
		close(gone)
	})
	return gone, true
}

// ended returns the workers that were ended, in order.
func (n *node) ended() []uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []uint64
	for _, e := range n.events {
		if e.why.Code != fault.OutOfMemory || e.why.Bytes == 0 || e.why.Text == "" {
			n.t.Errorf("the reason of worker %d is %+v", e.id, e.why)
		}
		list = append(list, e.id)
	}
	return list
}
