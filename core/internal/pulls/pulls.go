package pulls

import (
	"context"
	"sync"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/dir"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Pulls is what a node does with objects that other nodes have, too. See doc.go.
type Pulls struct {
	o       Options
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	running sync.WaitGroup
	arena   arena
	conns   conns
	times   times

	// The lock of Options guards what follows.
	closed   bool
	control  map[uint32]*wire.Peer // of the session with each node; nil: it has ended
	dir      *dir.Dir              // of the objects whose owners are here
	telling  bool                  // the directory's actions are being carried out
	asks     map[uint64]question
	lastAsk  uint64
	made     uint32 // counts the versions of this node
	held     map[ids.Object]*held
	pulls    map[ids.Object]*pull
	queue    []*pull // pulls that wait until others have ended, the most urgent first
	underway uint64  // bytes of the pulls that are admitted
	admitted int     // how many they are
	servers  map[*server]struct{}
}

// held is what this node has of an object that other nodes know of.
type held struct {
	version uint64
	making  bool // a process of this node writes it
	replica bool // another node has it, too
}

// New returns Pulls of a node. The caller has to close them.
func New(o Options) *Pulls {
	p := &Pulls{
		o: o, dir: dir.New(), control: make(map[uint32]*wire.Peer), asks: make(map[uint64]question), held: make(map[ids.Object]*held), pulls: make(map[ids.Object]*pull),
		servers: make(map[*server]struct{}), times: usualTimes,
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.conns.network, p.conns.patience = o.Network, p.times.patience
	p.arena.fd, p.arena.size = o.Store.FD(), o.Bytes
	return p
}

// Gone implements objects.Holder.
func (p *Pulls) Gone() bool { return false }

// locked calls f with the lock held, unless Close was called.
func (p *Pulls) locked(f func()) {
	p.o.Lock.Lock()
	defer p.o.Lock.Unlock()
	if !p.closed {
		f()
	}
}

// run calls f on a goroutine of its own, for which Close waits. After Close it does nothing. The lock is held.
func (p *Pulls) run(f func()) {
	if p.closed {
		return
	}
	p.running.Add(1)
	go func() {
		defer p.running.Done()
		f()
	}()
}

// later calls f with the lock held, when whoever holds the lock now has released it.
func (p *Pulls) later(f func()) { p.run(func() { p.locked(f) }) }

// here reports whether the object's owner is a process of this node.
func (p *Pulls) here(id ids.Object) bool { return id.Owner().Node() == p.o.Node }

// Knows reports whether the owner of an object is here and other nodes have the object or make it. The lock is held.
func (p *Pulls) Knows(id ids.Object) bool { return p.here(id) && p.dir.Knows(id) }

// newVersion returns a version that no other node uses.
func (p *Pulls) newVersion() uint64 {
	p.made++
	return uint64(p.o.Node)<<32 | uint64(p.made)
}

// Sizes returns how many entries the tables have.
func (p *Pulls) Sizes() map[string]int {
	return map[string]int{"remote_objects": p.dir.Len(), "held_objects": len(p.held), "pulls": len(p.pulls), "object_asks": len(p.asks)}
}

// Close ends all pulls and connections, and waits for the goroutines. It must be called before the store is closed, without the lock.
func (p *Pulls) Close() {
	p.cancel()
	for _, s := range p.beginClose() {
		s.conn.Close()
	}
	p.conns.close()
	p.running.Wait()
	p.arena.close()
}

// beginClose returns those who serve other nodes. Nothing is begun any more.
func (p *Pulls) beginClose() (all []*server) {
	p.o.Lock.Lock()
	defer p.o.Lock.Unlock()
	p.closed = true
	for s := range p.servers {
		all = append(all, s)
	}
	return all
}
