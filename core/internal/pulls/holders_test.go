package pulls

import (
	"errors"
	"net"
	"testing"
	"time"
)

// shared makes an object of node 1 that nodes 1, 2 and 3 have.
func (w *world) shared(size uint64) (first *node, object func() <-chan pinned) {
	a := w.nodes[1]
	id := a.id()
	a.put(&process{}, id, size)
	for n := uint32(2); n <= 3; n++ {
		c := &process{}
		w.nodes[n].get(c, id, size)
		w.nodes[n].unpin(c, id)
	}
	return a, func() <-chan pinned { return w.nodes[4].ask(&process{}, id, Get) }
}

// dialed counts the connections that a node has opened to each other one. Change may replace the connection.
func (w *world) dialed(from uint32, change func(to uint32, nth int, c net.Conn) (net.Conn, error)) map[uint32]int {
	count := map[uint32]int{}
	w.change = func(f, to uint32, c net.Conn) (net.Conn, error) {
		if f != from {
			return c, nil
		}
		count[to]++
		return change(to, count[to], c)
	}
	return count
}

func asIs(_ uint32, _ int, c net.Conn) (net.Conn, error) { return c, nil }

// A node reads an object from all nodes that have it and serve nobody.
func TestPull_SeveralHolders_ReadsFromAll(t *testing.T) {
	w := newWorld(t, 128*mib, 1, 2, 3, 4)
	a, ask := w.shared(31 * mib)
	count := w.dialed(4, asIs)
	w.nodes[4].same(receive(t, ask()), a.last(), 31*mib)
	if len(count) != 3 || count[1] != 1 || count[2] != 1 || count[3] != 1 {
		t.Errorf("connections to %v", count)
	}
}

// asks returns how many questions where an object is the node has answered.
func (n *node) asks() (asks uint64) {
	n.locked(func() { asks = n.p.lastAsk })
	return asks
}

// A holder that fails during a pull is replaced by another one, without a further question.
func TestPull_OneOfSeveralHoldersFails_OthersReplaceIt(t *testing.T) {
	for what, change := range map[string]func(to uint32, nth int, c net.Conn) (net.Conn, error){
		"breaks": func(to uint32, _ int, c net.Conn) (net.Conn, error) {
			if to == 2 {
				return &breaking{Conn: c, left: 5 * mib}, nil
			}
			return c, nil
		},
		"another byte": func(to uint32, _ int, c net.Conn) (net.Conn, error) {
			if to == 2 {
				return &breaking{Conn: c, left: 5 * mib, flips: true}, nil
			}
			return c, nil
		},
		"no path": func(to uint32, _ int, c net.Conn) (net.Conn, error) {
			if to != 3 {
				return nil, errors.New("no path")
			}
			return c, nil
		},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, 128*mib, 1, 2, 3, 4)
			a, ask := w.shared(40 * mib)
			w.dialed(4, change)
			before := a.asks()
			w.nodes[4].same(receive(t, ask()), a.last(), 40*mib)
			if n := a.asks() - before; n != 1 {
				t.Errorf("node 4 asked %d times", n)
			}
		})
	}
}

// later is a connection from which nothing comes before a channel is closed.
type later struct {
	net.Conn
	begin <-chan struct{}
}

func (c *later) Read(b []byte) (int, error) {
	<-c.begin
	return c.Conn.Read(b)
}

// The chunks of a holder that is much slower than another one are read from that one.
func TestPull_OneOfSeveralHoldersIsSlow_OthersTakeItsChunks(t *testing.T) {
	w := newWorld(t, 128*mib, 1, 2, 3, 4)
	a, ask := w.shared(56 * mib) // more chunks than the streams to the other two ask for at once
	w.nodes[4].p.times.slowFrom = 20 * time.Millisecond
	g := &gate{left: 3 * mib, open: make(chan struct{}), at: make(chan struct{})}
	w.dialed(4, func(to uint32, _ int, c net.Conn) (net.Conn, error) {
		if to == 2 {
			g.Conn = c
			return g, nil
		}
		return &later{Conn: c, begin: g.at}, nil
	})
	before := a.asks()
	w.nodes[4].same(receive(t, ask()), a.last(), 56*mib)
	if n := a.asks() - before; n != 1 {
		t.Errorf("node 4 asked %d times", n)
	}
}

// mute returns a connection on which nobody answers.
func (w *world) mute() net.Conn {
	here, there := pair(w.t)
	w.bulks = append(w.bulks, here, there)
	return here
}

// A holder that sends nothing is given up, also when it is the only one.
func TestPull_HolderIsSilent_IsGivenUp(t *testing.T) {
	w := newWorld(t, 128*mib, 1, 4)
	a := w.nodes[1]
	id := a.id()
	a.put(&process{}, id, 3*mib)
	w.nodes[4].p.conns.patience = 50 * time.Millisecond
	count := w.dialed(4, func(_ uint32, nth int, c net.Conn) (net.Conn, error) {
		if nth == 1 {
			return w.mute(), nil
		}
		return c, nil
	})
	w.nodes[4].same(receive(t, w.nodes[4].ask(&process{}, id, Get)), id, 3*mib)
	if count[1] != 2 {
		t.Errorf("%d connections", count[1])
	}
}

// A holder that waits itself says so, and is not given up.
func TestServe_ChunkIsNotThereYet_SaysThatItLives(t *testing.T) {
	w := newWorld(t, 192*mib, 1, 2, 4)
	a := w.nodes[1]
	id := a.id()
	a.put(&process{}, id, 70*mib)
	g := w.gated(2, 1, 9*mib)
	b := w.nodes[2].ask(&process{}, id, Get)
	receive(t, g.at)
	w.nodes[2].p.times.waitEvery = time.Millisecond
	w.nodes[4].p.conns.patience = time.Second
	before := a.asks()
	c := w.nodes[4].ask(&process{}, id, Get)
	time.Sleep(1400 * time.Millisecond) // node 4 would have given node 2 up by now
	close(g.open)
	w.nodes[2].same(receive(t, b), id, 70*mib)
	w.nodes[4].same(receive(t, c), id, 70*mib)
	if n := a.asks() - before; n != 1 {
		t.Errorf("node 4 asked %d times", n)
	}
}
