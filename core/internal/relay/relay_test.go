package relay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// world is a relay whose nodes take every stream. What a node does with it is the test's.
type world struct {
	r       *Relay
	targets chan string
	ends    chan net.Conn // of the node that was asked for
	dead    map[uint32]bool
	broken  error // of every open
}

func newWorld() *world {
	w := &world{targets: make(chan string, 1000), ends: make(chan net.Conn, 1000), dead: map[uint32]bool{}}
	open := func(node uint32, target []byte) (net.Conn, error) {
		if w.broken != nil {
			return nil, w.broken
		}
		x, y := net.Pipe()
		from, bulk, ok := ParseTarget(target)
		w.targets <- fmt.Sprint(node, from, bulk, ok)
		w.ends <- y
		return x, nil
	}
	alive := func(node uint32) error {
		if w.dead[node] {
			return fmt.Errorf("node %d is dead", node)
		}
		return nil
	}
	w.r = New(open, alive, slog.New(slog.DiscardHandler))
	return w
}

// ask opens a stream of a node, and returns it when the relay has answered.
func (w *world) ask(from uint32, target []byte) (net.Conn, error) {
	x, y := net.Pipe()
	go w.r.Serve(from, y, target)
	_ = x.SetDeadline(time.Now().Add(10 * time.Second))
	if err := Answer(x); err != nil {
		x.Close()
		return nil, err
	}
	return x, x.SetDeadline(time.Time{})
}

func TestRelay_CarriesBothDirections_AndEndsBothEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, bulk := range []bool{false, true} {
			w := newWorld()
			a, err := w.ask(3, Target(5, bulk))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := <-w.targets, fmt.Sprint(5, 3, bulk, true); got != want {
				t.Errorf("node, node that asks, bulk, target: %s, not %s", got, want)
			}
			b := <-w.ends
			for _, x := range [][2]net.Conn{{a, b}, {b, a}} {
				data := bytes.Repeat([]byte("0123456789"), 10_000)
				go func() { _, _ = x[0].Write(data) }()
				got := make([]byte, len(data))
				if _, err := io.ReadFull(x[1], got); err != nil || !bytes.Equal(got, data) {
					t.Fatalf("bytes were changed, or did not come: %v", err)
				}
			}
			b.Close()
			if n, err := a.Read(make([]byte, 1)); n != 0 || err != io.EOF {
				t.Errorf("the other end is closed, and this one reads %d, %v", n, err)
			}
			synctest.Wait()
			if len(w.r.counts) != 0 {
				t.Errorf("all connections are closed, and the relay counts %v", w.r.counts)
			}
		}
	})
}

func TestRelay_Refusals_SayWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.dead[6] = true
		for to, want := range map[uint32]string{6: "node 6 is dead", 3: "another node"} {
			if _, err := w.ask(3, Target(to, false)); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), want) {
				t.Errorf("to node %d: %v, not %q", to, err, want)
			}
		}
		w.broken = errors.New("no link")
		if _, err := w.ask(3, Target(5, false)); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "no link") {
			t.Errorf("the node cannot be reached: %v", err)
		}
		for _, bad := range [][]byte{nil, []byte("relay"), []byte("relay\x03aaaa"), append(Target(5, false), 0), bytes.Repeat([]byte{1}, 12)} {
			if _, err := w.ask(3, bad); !errors.Is(err, io.EOF) {
				t.Errorf("target %q: %v", bad, err)
			}
		}
		synctest.Wait()
		if len(w.r.counts) != 0 {
			t.Errorf("nothing is carried, and the relay counts %v", w.r.counts)
		}
	})
}

func TestRelay_Bounds_HoldForEachNodeAndForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			bulk              bool
			ofNode, otherNode int
			most              int
		}{{false, MostOfNode, MostBulkOfNode, Most}, {true, MostBulkOfNode, MostOfNode, MostBulk}} {
			w := newWorld()
			var open []net.Conn
			ask := func(from, to uint32, bulk bool) error {
				x, err := w.ask(from, Target(to, bulk))
				if err == nil {
					open = append(open, x, <-w.ends)
				}
				return err
			}
			for i := range c.ofNode {
				if err := ask(1, uint32(1000+i), c.bulk); err != nil {
					t.Fatal(err)
				}
			}
			for _, pair := range [][2]uint32{{1, 2}, {2, 1}} {
				if err := ask(pair[0], pair[1], c.bulk); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "of node 1") {
					t.Errorf("one more of node 1: %v", err)
				}
			}
			if err := ask(1, 2, !c.bulk); err != nil {
				t.Errorf("the other kind counts for itself: %v", err)
			}
			for i := c.ofNode; i < c.most; i++ {
				if err := ask(uint32(10_000+i), uint32(20_000+i), c.bulk); err != nil {
					t.Fatal(err)
				}
			}
			if err := ask(2, 3, c.bulk); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "between nodes") {
				t.Errorf("one more of all nodes: %v", err)
			}
			open[0].Close()
			synctest.Wait()
			if err := ask(1, 2, c.bulk); err != nil {
				t.Errorf("a place is free again: %v", err)
			}
			for _, x := range open {
				x.Close()
			}
			synctest.Wait()
			if len(w.r.counts) != 0 {
				t.Errorf("all connections are closed, and the relay counts %v", w.r.counts)
			}
		}
	})
}

// A node that does not read stops the other one: the relay keeps no more than its buffer.
func TestRelay_NodeDoesNotRead_TheOtherOneIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		a, err := w.ask(3, Target(5, false))
		if err != nil {
			t.Fatal(err)
		}
		_ = a.SetWriteDeadline(time.Now().Add(time.Second))
		n, err := a.Write(make([]byte, 1<<20))
		if n > copySize || err == nil {
			t.Errorf("%d bytes were taken, and nobody reads: %v", n, err)
		}
		a.Close()
		(<-w.ends).Close()
	})
}

func FuzzAnswer(f *testing.F) {
	f.Add(answer(opened, ""))
	f.Add(answer(refused, "no"))
	f.Add([]byte{refused, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		if err := Answer(r); err == nil && (b[0] != opened || len(b)-r.Len() > 3+maxText) {
			t.Errorf("%q is taken for consent, and %d bytes were read", b, len(b)-r.Len())
		}
		if node, bulk, ok := ParseTarget(b); ok && !bytes.Equal(Target(node, bulk), b) {
			t.Errorf("target %q is not that of node %d", b, node)
		}
	})
}
