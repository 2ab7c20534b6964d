package play

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/daemon"
	"github.com/eagleray/eagleray/core/internal/pipes"
	"github.com/eagleray/eagleray/core/internal/pulls"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Network joins daemons of this process that play different nodes.
type Network struct {
	// Late is how long what is sent through a stream is on its way, at most: what is sent together, a random time. So
	// messages of different streams overtake one another. 0: nothing is late.
	Late time.Duration
	// Way is how long each byte that is sent through a stream is on its way. Unlike with Late, much can be on its way at a time.
	Way time.Duration

	mu       sync.Mutex
	nodes    map[uint32]*daemon.Daemon
	controls map[[2]uint32]*wire.Peer // the ends of control connections, by node and other node
	bulks    map[[2]uint32][]net.Conn // bulk connections, by the node that dialed and the other one
}

// Join adds a node with so many CPUs.
func (n *Network) Join(t testing.TB, number uint32, cpus int64) *Session {
	t.Helper()
	return n.JoinWith(t, number, cpus, func(*daemon.Options) {})
}

// JoinWith is Join with other options.
func (n *Network) JoinWith(t testing.TB, number uint32, cpus int64, change func(*daemon.Options)) *Session {
	t.Helper()
	s := StartWith(t, cpus, func(o *daemon.Options) {
		o.Number, o.Network, o.Objects = number, route{n, number}, route{n, number}
		change(o)
	})
	n.enter(number, s.D)
	t.Cleanup(n.cut)
	return s
}

func (n *Network) enter(number uint32, d *daemon.Daemon) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.nodes == nil {
		n.nodes, n.controls, n.bulks = make(map[uint32]*daemon.Daemon), make(map[[2]uint32]*wire.Peer), make(map[[2]uint32][]net.Conn)
	}
	n.nodes[number] = d
}

// cut breaks all connections about objects, and makes no more.
func (n *Network) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.nodes)
	for k, p := range n.controls {
		go p.Close() // its handler may want the network
		delete(n.controls, k)
	}
	for _, list := range n.bulks {
		for _, c := range list {
			c.Close()
		}
	}
	clear(n.bulks)
}

// Dies has a node be dead for the others: its connections end, and they hear of it.
func (n *Network) Dies(number uint32) {
	var others []*daemon.Daemon
	func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.nodes, number)
		for k, p := range n.controls {
			if k[0] == number || k[1] == number {
				go p.Close()
				delete(n.controls, k)
			}
		}
		for k, list := range n.bulks {
			for _, c := range list {
				if k[0] == number || k[1] == number {
					c.Close()
				}
			}
		}
		for _, d := range n.nodes {
			others = append(others, d)
		}
	}()
	for _, d := range others {
		d.NodeGone(number)
	}
}

// Handled waits until a node has handled what another one has told it about objects. Between real nodes no byte of a stream is
// read before that.
func (n *Network) Handled(t testing.TB, from, by uint32) {
	t.Helper()
	p, err := route{n, from}.Control(by)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), Limit)
	defer cancel()
	if err := p.Call(ctx, wire.TCensus, nil, nil); fault.CodeOf(err) != fault.BadRequest { // it is no message about objects
		t.Fatal(err)
	}
}

// node returns the daemon with a number, nil if there is none.
func (n *Network) node(number uint32) *daemon.Daemon {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.nodes[number]
}

// route is the network as one node sees it.
type route struct {
	n    *Network
	from uint32
}

// Open implements pipes.Network.
func (r route) Open(_ context.Context, target ids.Owner) (net.Conn, error) {
	d := r.n.node(target.Node())
	if d == nil {
		return nil, fmt.Errorf("node %d is not there", target.Node())
	}
	here, there, err := Stream()
	if err != nil {
		return nil, err
	}
	if r.n.Late > 0 || r.n.Way > 0 {
		if there, err = r.n.delayed(there); err != nil {
			here.Close()
			return nil, err
		}
	}
	d.ServePipe(there, r.from, target)
	return here, nil
}

// delayed returns the end of a stream that leads to another end, late.
func (n *Network) delayed(end net.Conn) (net.Conn, error) {
	between, further, err := Stream()
	if err != nil {
		end.Close()
		return nil, err
	}
	carry := n.carry
	if n.Way > 0 {
		carry = n.carryFar
	}
	go carry(end, between)
	go carry(between, end)
	return further, nil
}

// sent is what was sent through a stream at a time.
type sent struct {
	b   []byte
	due time.Time // when it arrives
}

// carryFar is carry where each byte takes as long as Way says.
func (n *Network) carryFar(from, to net.Conn) {
	way := make(chan sent, 1<<12)
	go func() {
		defer to.Close()
		for x := range way {
			time.Sleep(time.Until(x.due))
			_, _ = to.Write(x.b)
		}
	}()
	defer close(way)
	defer from.Close()
	for {
		b := make([]byte, 4<<10)
		k, err := from.Read(b)
		if k > 0 {
			way <- sent{b[:k], time.Now().Add(n.Way)}
		}
		if err != nil {
			return
		}
	}
}

// carry passes on what comes from one end, and then that it has ended. What cannot be passed on is dropped: the other
// direction still carries what had come from there, as links do.
func (n *Network) carry(from, to net.Conn) {
	defer to.Close()
	defer from.Close()
	b := make([]byte, 64<<10)
	for {
		k, err := from.Read(b)
		time.Sleep(rand.N(n.Late))
		if k > 0 {
			_, _ = to.Write(b[:k])
		}
		if err != nil {
			return
		}
	}
}

// Control implements pulls.Network.
func (r route) Control(node uint32) (*wire.Peer, error) {
	r.n.mu.Lock()
	defer r.n.mu.Unlock()
	here, there := r.n.nodes[r.from], r.n.nodes[node]
	if here == nil || there == nil {
		return nil, fmt.Errorf("node %d is not there", node)
	}
	if p := r.n.controls[[2]uint32{r.from, node}]; p != nil {
		return p, nil
	}
	a, b, err := Stream()
	if err != nil {
		return nil, err
	}
	p := wire.NewPeer(a, func(m *wire.Message) { here.NodeMessage(node, m) }, nil)
	other := wire.NewPeer(b, func(m *wire.Message) { there.NodeMessage(r.from, m) }, nil)
	r.n.controls[[2]uint32{r.from, node}], r.n.controls[[2]uint32{node, r.from}] = p, other
	p.Start()
	other.Start()
	return p, nil
}

// Bulk implements pulls.Network.
func (r route) Bulk(_ context.Context, node uint32) (net.Conn, error) {
	r.n.mu.Lock()
	defer r.n.mu.Unlock()
	d := r.n.nodes[node]
	if d == nil {
		return nil, fmt.Errorf("node %d is not there", node)
	}
	a, b, err := Stream()
	if err != nil {
		return nil, err
	}
	key := [2]uint32{r.from, node}
	r.n.bulks[key] = append(r.n.bulks[key], a)
	go d.ServeObjects(r.from, b)
	return a, nil
}

var (
	_ pipes.Network = route{}
	_ pulls.Network = route{}
)

// Stream returns the two ends of a stream between two nodes.
func Stream() (a, b net.Conn, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	if a, err = connOf(fds[0]); err != nil {
		unix.Close(fds[1])
		return nil, nil, err
	}
	if b, err = connOf(fds[1]); err != nil {
		a.Close()
	}
	return a, b, err
}

// connOf makes a connection of a socket's descriptor.
func connOf(fd int) (net.Conn, error) {
	f := os.NewFile(uintptr(fd), "stream")
	defer f.Close()
	return net.FileConn(f)
}
