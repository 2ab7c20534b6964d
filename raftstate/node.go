package raftstate

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate/internal/answered"
	"github.com/eagleray/eagleray/raftstate/internal/requests"
)

// Node is one member of the group of heads.
type Node struct {
	Changes
	opts     Options
	raft     *raft.Raft
	fsm      *fsm
	client   Client
	requests *requests.Requests
	reign    atomic.Pointer[Reign] // nil: another member leads, or none
	marks    marks

	mu     sync.Mutex
	halted bool
	leader chan struct{}  // closed when the known leader changes; nil while nobody waits
	inside sync.WaitGroup // waits for raft under way; raft must run until they end

	unstorable <-chan struct{} // closed when the stores have failed; nil: nobody guards them

	once   sync.Once
	stop   chan struct{} // closed by Close
	failed chan struct{} // closed when the member has stopped by itself
	done   chan struct{} // closed when follow has returned
}

// Open starts a member.
func Open(o Options) (*Node, error) {
	if err := o.complete(); err != nil {
		return nil, fmt.Errorf("open cluster state: %w", err)
	}
	n := &Node{opts: o, stop: make(chan struct{}), failed: make(chan struct{}), done: make(chan struct{}), requests: requests.New(answered.Kept.PerClient)}
	n.Changes = Changes{n: n}
	if g := o.Stores.Guard; g != nil {
		n.unstorable = g.Failed()
	}
	if _, err := rand.Read(n.client[:]); err != nil {
		return nil, fmt.Errorf("open cluster state: %w", err)
	}
	if err := n.start(); err != nil {
		return nil, fmt.Errorf("open cluster state: %w", err)
	}
	return n, nil
}

func (n *Node) start() error {
	o, transport := n.opts, n.opts.Transport
	stores, discard := o.Stores, false
	if stores.Log == nil {
		stores = NewMemoryStores()
		if o.inMemory() {
			// Nobody will ever read a snapshot of a single member that lives in memory.
			stores.Snapshots, discard = raft.NewDiscardSnapshotStore(), true
		}
	}
	if transport == nil {
		_, transport = raft.NewInmemTransport(raft.ServerAddress(o.ID))
	}
	n.fsm = newFSM(o, discard)
	config := o.config()
	known, err := raft.HasExistingState(stores.Log, stores.Stable, stores.Snapshots)
	if err != nil {
		return err
	}
	if !known && len(o.Voters) > 0 {
		if err := raft.BootstrapCluster(config, stores.Log, stores.Stable, stores.Snapshots, transport, o.servers()); err != nil {
			return err
		}
	}
	return n.run(config, stores, transport)
}

// run starts raft. A member that is the only voter has nobody to wait for: a
// heartbeat timeout that gets shorter makes raft look at once, so that it leads
// within a millisecond, and still wakes up only twice a second.
func (n *Node) run(config *raft.Config, stores Stores, transport raft.Transport) error {
	config.HeartbeatTimeout++
	config.ElectionTimeout++
	r, err := raft.NewRaft(config, n.fsm, stores.Log, stores.Stable, stores.Snapshots, transport)
	if err != nil {
		return cmp.Or(n.fsm.err(), err) // raft does not say why it cannot read a snapshot
	}
	n.raft = r
	observed := make(chan raft.Observation, 1)
	r.RegisterObserver(raft.NewObserver(observed, false, func(o *raft.Observation) bool {
		_, leader := o.Data.(raft.LeaderObservation)
		return leader
	}))
	go n.follow(observed)
	if !n.alone() {
		return nil
	}
	reload := r.ReloadableConfig()
	reload.HeartbeatTimeout--
	reload.ElectionTimeout--
	if err := r.ReloadConfig(reload); err != nil {
		return errors.Join(err, n.Close())
	}
	return nil
}

// alone reports whether this member is the only voter.
func (n *Node) alone() bool {
	servers := n.raft.GetConfiguration().Configuration().Servers
	return len(servers) == 1 && servers[0].ID == raft.ServerID(n.opts.ID)
}

// Close stops the member: commands under way end first, then raft, then the
// watches.
func (n *Node) Close() error {
	n.once.Do(func() { close(n.stop) })
	err := n.halt()
	<-n.done
	n.fsm.ring.Close()
	if err != nil {
		return fmt.Errorf("close cluster state: %w", err)
	}
	return nil
}

// refuse lets no call begin any more that waits for raft.
func (n *Node) refuse() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.halted = true
}

// halt stops raft after the waits under way. They all end: raft runs, and who waits for this member's state hears when that goes on no more.
func (n *Node) halt() error {
	n.refuse()
	n.inside.Wait()
	ended := n.raft.Shutdown()
	if t, ok := n.opts.Transport.(Leaver); ok {
		t.Leave()
	}
	return ended.Error()
}

// Err returns why this member stops by itself: it met a command that it does
// not know, or its stores have failed.
func (n *Node) Err() error {
	if err := n.fsm.err(); err != nil || n.opts.Stores.Guard == nil {
		return err
	}
	return n.opts.Stores.Guard.Err()
}

// Failed is closed when this member has stopped by itself; Err says why. The
// process should end then, because nothing can be committed here any more.
func (n *Node) Failed() <-chan struct{} { return n.failed }

// enter begins a wait for raft, and is followed by n.inside.Done.
func (n *Node) enter() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.halted {
		return false
	}
	n.inside.Add(1)
	return true
}

// Now returns the place after the last event; see record.Cursor.
func (n *Node) Now() (c record.Cursor) {
	n.fsm.view(func(m *Machine) { c.Seq = m.seq })
	return c
}

// Watch waits until there is something after the cursor: events, or a change
// of this member's leadership, which the first call from Now also is. The
// errors are record.ErrCompacted, record.ErrClosed and the context's.
func (n *Node) Watch(ctx context.Context, from record.Cursor) (record.Batch, error) {
	return n.fsm.ring.Watch(ctx, from)
}
