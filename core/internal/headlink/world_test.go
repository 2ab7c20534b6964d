package headlink_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/daemon"
	"github.com/eagleray/eagleray/core/internal/head"
	"github.com/eagleray/eagleray/core/internal/headlink"
	"github.com/eagleray/eagleray/core/internal/packing"
	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate"
)

// The daemon's head is either of the two, and the server serves the one that is in its process.
var (
	_ daemon.Head   = (*head.Head)(nil)
	_ daemon.Head   = (*headlink.Client)(nil)
	_ headlink.Head = (*head.Head)(nil)
	_ headlink.Feed = (*raftstate.Node)(nil)
)

// patience is how long a test waits for what must come.
const patience = 60 * time.Second

// nodeNumber is that of the one node.
const nodeNumber = 7

var nodeID = ids.Node{7}

// TestMain fails the package when a test leaves a goroutine behind. The test binary plays zygotes and workers, too.
func TestMain(m *testing.M) {
	play.Roles(nil)
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	code := m.Run()
	for deadline := time.Now().Add(10 * time.Second); code == 0; time.Sleep(time.Millisecond) {
		var stacks strings.Builder
		_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
		if !strings.Contains(stacks.String(), "core/internal/headlink.(") && !strings.Contains(stacks.String(), "wire.(*Peer)") {
			break
		}
		if time.Now().After(deadline) {
			fmt.Fprintf(os.Stderr, "goroutines left behind:\n%s\n", stacks.String())
			code = 1
		}
	}
	os.Exit(code)
}

// until waits for what must become true.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(200 * time.Microsecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// playedNode writes down what the head tells it.
type playedNode struct {
	mu    sync.Mutex
	trace []string
	nodes map[ids.Node]record.Node
	jobs  map[ids.Job]record.Job
	has   []record.Instance
}

func newPlayedNode() *playedNode {
	return &playedNode{nodes: map[ids.Node]record.Node{}, jobs: map[ids.Job]record.Job{}}
}

func (n *playedNode) note(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.trace = append(n.trace, fmt.Sprintf(format, args...))
}

func (n *playedNode) said() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.trace...)
}

func (n *playedNode) WithdrawActor(i record.Instance, ticket uint64) {
	n.note("withdraw %x#%d", i.Actor[0], i.Incarnation)
}

func (n *playedNode) PlaceActor(a record.Actor, _ uint64) {
	n.note("place %x#%d %s", a.ID[0], a.Incarnation, a.Spec)
}

func (n *playedNode) StopActor(i record.Instance, drain bool) {
	n.note("stop %x#%d worker %x drain %v", i.Actor[0], i.Incarnation, i.Worker[0], drain)
}

func (n *playedNode) EndActor(i record.Instance) {
	n.note("end %x#%d", i.Actor[0], i.Incarnation)
}

func (n *playedNode) Actors() []record.Instance {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.has
}

func (n *playedNode) PrepareBundles(_ ids.Job, b packing.Bundles) {
	n.note("prepare %v of group %x#%d, ticket %d", b.Index, b.Group[0], b.Epoch, b.Ticket)
}

func (n *playedNode) OpenBundles(group ids.Group, epoch uint64) {
	n.note("open group %x#%d", group[0], epoch)
}

func (n *playedNode) UndoBundles(group ids.Group, ticket uint64) {
	n.note("undo group %x, ticket %d", group[0], ticket)
}

func (n *playedNode) DropBundles(group ids.Group) { n.note("drop group %x", group[0]) }

func (n *playedNode) KeptBundles() []packing.Kept { return nil }

func (n *playedNode) NodeIs(r record.Node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.nodes[r.ID] = r
}

func (n *playedNode) JobIs(r record.Job) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.jobs[r.ID] = r
}

func (n *playedNode) job(id ids.Job) record.JobState {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.jobs[id].State
}

// headProcess is what is lost when the head's process ends, but for its stores.
type headProcess struct {
	state  *raftstate.Node
	head   *head.Head
	server *headlink.Server // nil: the head is in the node's process

	chooses bool // which node starts an actor
	follow  sync.WaitGroup
	cancel  context.CancelFunc
}

// PlaceActor and StopActor make it the head's placer.
func (p *headProcess) PlaceActor(a record.Actor) {
	if p.chooses {
		p.server.PlaceActor(&a, 0)
	} else {
		_ = p.server.Order(nodeNumber, a)
	}
}

func (p *headProcess) StopActor(i record.Instance, how head.Stop) {
	_ = p.server.StopActor(nodeNumber, i, how == head.StopDrain)
}

// direct is the placer of a head in the node's process.
type direct struct{ *playedNode }

func (d direct) PlaceActor(a record.Actor) { d.playedNode.PlaceActor(a, 0) }

func (d direct) StopActor(i record.Instance, how head.Stop) {
	d.playedNode.StopActor(i, how == head.StopDrain)
}

// noPlace places no groups.
type noPlace struct{}

func (noPlace) PlaceGroup(record.Group)      {}
func (noPlace) RetryGroup(ids.Group, uint64) {}
func (noPlace) OpenGroup(record.Group)       {}
func (noPlace) DropGroup(record.Group)       {}

// world is a node and its head, which may be another process.
type world struct {
	t      testing.TB
	ctx    context.Context
	stores raftstate.Stores
	node   *playedNode
	daemon daemon.Head // what the node's daemon uses
	client *headlink.Client
	wrap   func(headlink.Head) headlink.Head    // what stands before the head of the next process; nil: nothing
	judge  func(*raftstate.Node) headlink.Judge // how the next process judges nodes; nil: it does not
	*headProcess
	answers *mutable // of the present connection
}

func newWorld(t testing.TB, far bool) *world {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	w := &world{t: t, ctx: ctx, stores: raftstate.NewMemoryStores(), node: newPlayedNode()}
	if far {
		w.client = headlink.NewClient(headlink.ClientOptions{Number: nodeNumber, ID: nodeID, Node: w.node, Log: quiet()})
		w.daemon = w.client
		t.Cleanup(w.client.Close)
	}
	return w
}

// near returns a world whose head is in the node's process.
func near(t testing.TB) *world {
	w := newWorld(t, false)
	w.startHead(false)
	w.daemon = w.head
	return w
}

// far returns a world whose head is behind a connection.
func far(t testing.TB) *world {
	w := newWorld(t, true)
	w.startHead(true)
	w.connect()
	return w
}

func (w *world) startHead(far bool) {
	w.t.Helper()
	p := &headProcess{chooses: w.judge != nil}
	var err error
	if p.state, err = raftstate.Open(raftstate.Options{ID: "a", Stores: w.stores}); err != nil {
		w.t.Fatal(err)
	}
	var placer head.Placer = direct{w.node}
	if far {
		placer = p
		p.server = headlink.NewServer(quiet())
		p.server.Records(p.state.Node)
		p.head, err = head.Open(head.Options{State: p.state, Placer: placer, Groups: p.server, NowMs: func() int64 { return 1000 }})
		var h headlink.Head = p.head
		if w.wrap != nil {
			h = w.wrap(h)
		}
		if w.judge != nil {
			p.server.Judge(w.judge(p.state))
		}
		p.server.Serve(h)
		var ctx context.Context
		ctx, p.cancel = context.WithCancel(context.Background())
		p.follow.Go(func() { _ = p.server.Follow(ctx, p.state) })
	} else {
		p.head, err = head.Open(head.Options{State: p.state, Placer: placer, Groups: noPlace{}, NowMs: func() int64 { return 1000 }})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.headProcess = p
	if err := p.state.WaitLeader(w.ctx); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(p.end)
}

// end ends the head's process.
func (p *headProcess) end() {
	if p.server != nil {
		p.cancel()
		p.server.Close()
		p.follow.Wait()
	}
	p.head.Close()
	_ = p.state.Close()
}

// restartHead ends the head's process and starts another one on the same stores.
func (w *world) restartHead() {
	w.end()
	w.startHead(true)
}

// mutable is a connection whose writes can be lost from some moment on.
type mutable struct {
	net.Conn
	muted atomic.Bool
	lost  chan struct{} // gets a value when something was lost
}

func (c *mutable) Write(b []byte) (int, error) {
	if !c.muted.Load() {
		return c.Conn.Write(b)
	}
	select {
	case c.lost <- struct{}{}:
	default:
	}
	return len(b), nil
}

// connect connects the node with the head by a pipe.
func (w *world) connect() {
	here, there := net.Pipe()
	w.join(here, there)
}

func (w *world) join(here, there net.Conn) {
	w.answers = &mutable{Conn: there, lost: make(chan struct{}, 1)}
	join(w.client, w.server, here, w.answers)
}

func join(c *headlink.Client, s *headlink.Server, here, there net.Conn) {
	at := wire.NewPeer(there, func(m *wire.Message) { s.Handle(m) }, nil)
	s.Connected(nodeNumber, at)
	at.Start()
	from := wire.NewPeer(here, func(m *wire.Message) { c.Handle(m) }, nil)
	c.Connected(from)
	from.Start()
}

// cut ends the present connection.
func (w *world) cut() { w.answers.Conn.Close() }

// settle waits until all that was reported and ordered has been acted upon.
func (w *world) settle() {
	w.t.Helper()
	if w.client != nil {
		until(w.t, "the reports arrive", func() bool { return w.client.Unreported() == 0 })
	}
	if err := w.head.AwaitReports(w.ctx); err != nil {
		w.t.Fatal(err)
	}
	if w.client != nil {
		until(w.t, "the orders arrive", func() bool { return w.server.Untaken(nodeNumber) == 0 })
	}
}
