package histories

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/eagleray/eagleray/raftstate"
)

// network carries raft's messages and forwarded commands between members in one process: late, and not at all where it is cut. A
// cut is one-way: what a says to b is lost, be it a request or an answer.
type network struct {
	mu   sync.Mutex
	die  *rand.Rand
	ends map[string]*end
	cuts map[[2]string]bool
	sent atomic.Int64 // snapshots that were sent and taken
	late underWay     // commands that arrive once more
}

// underWay counts what goes on. Unlike a sync.WaitGroup it may be waited for while more begins: members go on forwarding commands of their own.
type underWay struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed when n is 0 again; nil while it is
}

// Go carries something out on a goroutine of its own.
func (u *underWay) Go(do func()) {
	u.add(1)
	go func() {
		defer u.add(-1)
		do()
	}()
}

func (u *underWay) add(n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch u.n += n; {
	case u.n == 0:
		close(u.none)
		u.none = nil
	case u.none == nil:
		u.none = make(chan struct{})
	}
}

// Wait waits until nothing goes on.
func (u *underWay) Wait() {
	u.mu.Lock()
	none := u.none
	u.mu.Unlock()
	if none != nil {
		<-none
	}
}

// end is a member's end of the network, from its start to its death.
type end struct {
	net   *network
	id    string
	rpcs  chan raft.RPC
	dead  chan struct{}
	node  *raftstate.Node // nil until it is open
	close sync.Once
}

var errLost = errors.New("the message is lost")

const (
	rpcLimit = 250 * time.Millisecond
	lateness = 150 * time.Millisecond // of the slowest messages
)

func newNetwork(seed uint64) *network {
	return &network{die: rand.New(rand.NewPCG(seed, 11)), ends: map[string]*end{}, cuts: map[[2]string]bool{}}
}

// roll calls f with the network's die, and nobody else's hands on the network.
func (n *network) roll(f func(die *rand.Rand)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f(n.die)
}

// attach gives a member that starts an end.
func (n *network) attach(id string) *end {
	e := &end{net: n, id: id, rpcs: make(chan raft.RPC), dead: make(chan struct{})}
	n.roll(func(*rand.Rand) { n.ends[id] = e })
	return e
}

// detach lets nothing through any more to or from a member that dies.
func (e *end) detach() {
	e.close.Do(func() { close(e.dead) })
}

func (n *network) cut(from, to string) {
	n.roll(func(*rand.Rand) { n.cuts[[2]string{from, to}] = true })
}

// isCut reports whether nothing comes through between two members, in one direction at least.
func (n *network) isCut(one, other string) (cut bool) {
	n.roll(func(*rand.Rand) { cut = n.cuts[[2]string{one, other}] || n.cuts[[2]string{other, one}] })
	return cut
}

func (n *network) heal() { n.roll(func(*rand.Rand) { clear(n.cuts) }) }

// travel is the way of one message from a member to another. It returns the other end, or an error if the message is lost.
func (e *end) travel(to string) (*end, error) {
	var late time.Duration
	e.net.roll(func(die *rand.Rand) {
		late = 100*time.Microsecond + time.Duration(die.Int64N(int64(2*time.Millisecond)))
		if die.IntN(50) == 0 {
			late = time.Duration(die.Int64N(int64(lateness)))
		}
	})
	time.Sleep(late)
	var target *end
	lost := false
	e.net.roll(func(*rand.Rand) { target, lost = e.net.ends[to], e.net.cuts[[2]string{e.id, to}] })
	if target == nil || lost || over(e.dead) || over(target.dead) {
		time.Sleep(rpcLimit)
		return nil, errLost
	}
	return target, nil
}

func over(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// call carries a request of raft's and its answer.
func (e *end) call(to raft.ServerAddress, args any, data io.Reader) (any, error) {
	target, err := e.travel(string(to))
	if err != nil {
		return nil, err
	}
	answer := make(chan raft.RPCResponse, 1)
	limit := time.NewTimer(rpcLimit)
	defer limit.Stop()
	select {
	case target.rpcs <- raft.RPC{Command: args, Reader: data, RespChan: answer}:
	case <-target.dead:
		return nil, errLost
	case <-limit.C:
		return nil, errLost
	}
	var r raft.RPCResponse
	select {
	case r = <-answer:
	case <-target.dead:
		return nil, errLost
	case <-limit.C:
		return nil, errLost
	}
	if back, err := target.travel(e.id); err != nil || back != e {
		return nil, errLost
	}
	return r.Response, r.Error
}

// answered is call for an answer of one type.
func answered[T any](e *end, to raft.ServerAddress, args any, data io.Reader, into *T) error {
	r, err := e.call(to, args, data)
	if err != nil {
		return err
	}
	*into = *r.(*T)
	return nil
}

func (e *end) Consumer() <-chan raft.RPC                                     { return e.rpcs }
func (e *end) LocalAddr() raft.ServerAddress                                 { return raft.ServerAddress(e.id) }
func (e *end) EncodePeer(_ raft.ServerID, address raft.ServerAddress) []byte { return []byte(address) }
func (e *end) DecodePeer(b []byte) raft.ServerAddress                        { return raft.ServerAddress(b) }
func (e *end) SetHeartbeatHandler(func(raft.RPC))                            {}
func (e *end) AppendEntriesPipeline(raft.ServerID, raft.ServerAddress) (raft.AppendPipeline, error) {
	return nil, raft.ErrPipelineReplicationNotSupported
}

func (e *end) AppendEntries(_ raft.ServerID, to raft.ServerAddress, q *raft.AppendEntriesRequest, a *raft.AppendEntriesResponse) error {
	return answered(e, to, q, nil, a)
}

func (e *end) RequestVote(_ raft.ServerID, to raft.ServerAddress, q *raft.RequestVoteRequest, a *raft.RequestVoteResponse) error {
	return answered(e, to, q, nil, a)
}

func (e *end) RequestPreVote(_ raft.ServerID, to raft.ServerAddress, q *raft.RequestPreVoteRequest, a *raft.RequestPreVoteResponse) error {
	return answered(e, to, q, nil, a)
}

func (e *end) TimeoutNow(_ raft.ServerID, to raft.ServerAddress, q *raft.TimeoutNowRequest, a *raft.TimeoutNowResponse) error {
	return answered(e, to, q, nil, a)
}

func (e *end) InstallSnapshot(_ raft.ServerID, to raft.ServerAddress, q *raft.InstallSnapshotRequest, a *raft.InstallSnapshotResponse, data io.Reader) error {
	image, err := io.ReadAll(data)
	if err != nil {
		return err
	}
	err = answered(e, to, q, bytes.NewReader(image), a)
	if err == nil && a.Success {
		e.net.sent.Add(1)
	}
	return err
}

// Forward implements raftstate.Forwarder. Some commands arrive once more, much later, because a member sends again what has no answer.
// What was refused is not sent again by the network.
func (e *end) Forward(ctx context.Context, id, _ string, command []byte) ([]byte, error) {
	again, lose := time.Duration(0), false
	e.net.roll(func(die *rand.Rand) {
		if die.IntN(8) == 0 {
			again = time.Duration(die.Int64N(int64(3 * time.Second)))
		}
		lose = die.IntN(10) == 0
	})
	b, err := e.forward(ctx, id, command)
	if errors.Is(err, raftstate.ErrNotLeader) {
		return b, err
	}
	if again > 0 {
		e.net.late.Go(func() {
			time.Sleep(again)
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_, _ = e.forward(ctx, id, command)
		})
	}
	if lose {
		return nil, errLost
	}
	return b, err
}

func (e *end) forward(ctx context.Context, id string, command []byte) ([]byte, error) {
	target, err := e.travel(id)
	if err != nil {
		return nil, err
	}
	var node *raftstate.Node
	e.net.roll(func(*rand.Rand) { node = target.node })
	if node == nil {
		return nil, errLost
	}
	b, err := node.Forwarded(ctx, command)
	if _, lost := target.travel(e.id); lost != nil {
		return nil, errLost
	}
	return b, err
}
