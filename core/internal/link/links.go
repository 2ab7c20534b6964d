package link

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/eagleray/eagleray/core/internal/pki"
)

// Links are the connections of this process with other nodes.
type Links struct {
	c     Config
	log   *slog.Logger
	ctx   context.Context // ends with Close
	stop  context.CancelFunc
	gate  *pki.Gate
	rings sync.Pool // large buffers of streams
	work  sync.WaitGroup

	newest atomic.Uint32 // generation of a head that this node has met
	epoch  atomic.Uint64 // how often Redial was called

	mu     sync.Mutex
	nodes  map[uint32]*Link
	closed bool
}

// Open makes the links of a process. Nothing is dialed before To.
func Open(c Config) (*Links, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	l := &Links{c: c, log: c.Log, gate: pki.NewGate(), nodes: map[uint32]*Link{}}
	l.ctx, l.stop = context.WithCancel(context.Background())
	l.newest.Store(c.Self.Generation)
	return l, nil
}

// To returns the link to a node, whether the node exists or not.
func (l *Links) To(node uint32) (*Link, error) {
	if node == l.c.Self.Number {
		return nil, fmt.Errorf("link of node %d to itself: the caller must know what is on its own node", node)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, fmt.Errorf("link to node %d: %w", node, ErrClosed)
	}
	k := l.nodes[node]
	if k == nil {
		k = newLink(l, node)
		l.nodes[node] = k
	}
	return k, nil
}

func newLink(l *Links, node uint32) *Link {
	return &Link{
		links: l, node: node, places: make(chan struct{}, BulkConns), valuePlaces: make(chan struct{}, ValueConns), guests: make(chan struct{}, BulkConns+ValueConns),
		raftPlaces: make(chan struct{}, RaftConns), raftGuests: make(chan struct{}, RaftConns), bulk: map[*bulkConn]bool{},
	}
}

// Trouble returns why the last attempt to reach a node has failed; nil while there is a connection, and when nobody has tried.
func (l *Links) Trouble(node uint32) error {
	k, err := l.To(node)
	if err != nil {
		return err
	}
	s, err := k.current()
	if s == nil {
		return err
	}
	return s.trouble()
}

// Dead says that a node is dead, which the heads have decided. Its streams and bulk connections end, and
// no connection with this number is made again.
func (l *Links) Dead(node uint32) {
	k, err := l.To(node)
	if err != nil {
		return
	}
	k.kill(ErrDead)
}

// Redial closes all connections. Those of sessions begin anew at once, and go on with what was under way; bulk connections have ended.
// What a connection was checked by when it began may not count any more. So a connection that is being made meanwhile, by either end, comes to nothing: it
// has the epoch in which its check began, and none is attached in another one.
func (l *Links) Redial() {
	l.epoch.Add(1) // first: what is attached before this is found below
	for _, k := range l.all() {
		for _, c := range k.bulkConns() {
			c.sever()
		}
		if s, _ := k.current(); s != nil {
			s.sever()
		}
	}
}

func (l *Links) all() (all []*Link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range l.nodes {
		all = append(all, k)
	}
	return all
}

// Close ends all sessions and connections, and waits until the goroutines have ended, those of the functions in Config included.
// It does not call Down, and the other nodes hear nothing: to them this node has no path.
func (l *Links) Close() {
	for _, k := range l.shut() {
		k.kill(ErrClosed)
	}
	l.stop()
	l.work.Wait()
}

// shut refuses all that is new, and returns the links that there are.
func (l *Links) shut() (all []*Link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, k := range l.nodes {
		all = append(all, k)
	}
	return all
}

// run starts a goroutine that Close waits for. It returns false after Close.
func (l *Links) run(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.work.Go(f)
	return true
}
