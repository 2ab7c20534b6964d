package play

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/daemon"
	"github.com/eagleray/eagleray/core/internal/pipes"
)

// Network joins daemons of this process that play different nodes.
type Network struct {
	mu    sync.Mutex
	nodes map[uint32]*daemon.Daemon
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
		o.Number, o.Network = number, route{n, number}
		change(o)
	})
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.nodes == nil {
		n.nodes = make(map[uint32]*daemon.Daemon)
	}
	n.nodes[number] = s.D
	return s
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
	d.ServePipe(there, r.from, target)
	return here, nil
}

var _ pipes.Network = route{}

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
