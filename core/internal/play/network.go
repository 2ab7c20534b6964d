package play

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/daemon"
	"github.com/eagleray/eagleray/core/internal/pipes"
)

// Network joins daemons of this process that play different nodes.
type Network struct {
	// Late is how long what is sent through a stream is on its way, at most: what is sent together, a random time. So
	// messages of different streams overtake one another. 0: nothing is late.
	Late time.Duration

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
	if r.n.Late > 0 {
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
	go n.carry(end, between)
	go n.carry(between, end)
	return further, nil
}

// carry passes on what comes from one end, and then that it has ended.
func (n *Network) carry(from, to net.Conn) {
	defer to.Close()
	b := make([]byte, 64<<10)
	for {
		k, err := from.Read(b)
		if err == nil || k > 0 {
			time.Sleep(rand.N(n.Late))
			_, failed := to.Write(b[:k])
			err = errors.Join(err, failed)
		}
		if err != nil {
			time.Sleep(rand.N(n.Late))
			return
		}
	}
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
