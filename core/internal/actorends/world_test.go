package actorends

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/progress"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// The nodes of the tests, an actor, a process that calls it, and another one that does.
var (
	theActor = ids.Actor{0xa}
	caller   = progress.Caller{Owner: ids.Owner{0, 0, 0, 1, 7}, Conn: 3}
	stranger = progress.Caller{Owner: ids.Owner{0, 0, 0, 1, 8}, Conn: 3}
)

const (
	here  = 1
	there = 2
)

// playedHead is a head that answers when the test says so.
type playedHead struct {
	mu       sync.Mutex
	actor    record.Actor
	err      error // of Actor
	done     func(record.Resolution, error)
	canceled bool
}

func (h *playedHead) Actor(context.Context, ids.Actor) (record.Actor, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.actor, h.err
}

func (h *playedHead) Ended(_ ids.Actor, _ uint64, done func(record.Resolution, error)) func() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.done = done
	return func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.canceled = true
		return true
	}
}

// network leads to one other node, or to none.
type network struct{ to *wire.Peer }

func (n network) Control(node uint32) (*wire.Peer, error) {
	if n.to == nil || node != there {
		return nil, errors.New("no connection with that node")
	}
	return n.to, nil
}

// node is a node with Ends, of which the test says what runs there.
type node struct {
	*Ends
	mu      sync.Mutex
	alive   map[ID]int // the process of each incarnation that takes calls
	refused []error
}

func newNode(number uint32, n Network) *node {
	x := &node{alive: map[ID]int{}}
	x.Ends = New(Options{
		Node: number, Network: n, Address: func(*record.Actor) string { return "10.0.0.2" },
		Alive: func(id ID) (int, bool) {
			x.mu.Lock()
			defer x.mu.Unlock()
			pid, alive := x.alive[id]
			return pid, alive
		},
		Refused: func(err error) {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.refused = append(x.refused, err)
		},
	})
	return x
}

// lives says whether an incarnation takes calls on the node.
func (x *node) lives(id ID, pid int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if delete(x.alive, id); pid != 0 {
		x.alive[id] = pid
	}
}

func (x *node) complaints() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.refused)
}

// joined connects two ends and returns them; the right one's messages go to handle.
func joined(t *testing.T, handle func(*wire.Message)) (left, right *wire.Peer) {
	a, b := net.Pipe()
	left = wire.NewPeer(a, func(*wire.Message) {}, nil)
	right = wire.NewPeer(b, handle, nil)
	left.Start()
	right.Start()
	t.Cleanup(func() {
		left.Close()
		right.Close()
	})
	return left, right
}

// two returns the node of the callers and another one, which are connected.
func two(t *testing.T) (a, b *node) {
	b = newNode(there, nil)
	to, _ := joined(t, func(m *wire.Message) {
		if !b.Handle(m) {
			_ = m.Fail(errors.New("not about ends"))
		}
	})
	return newNode(here, network{to}), b
}

// begun makes a page on which calls of the caller up to that number have begun.
func begun(t *testing.T, seq uint32) *progress.Reader {
	t.Helper()
	fd, r, err := progress.CreateActorPage()
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	w, err := progress.OpenActorPage(fd)
	if err != nil {
		t.Fatal(err)
	}
	w.Take(caller.Owner, caller.Conn).Begin(seq)
	return r
}

// answer is what a process is told.
type answer struct {
	wire.ActorDeath
	err error
}

// asked is a process that asks about an incarnation.
type asked struct {
	*Question
	got   chan answer
	overs int
}

// asks has a process ask a node about an incarnation, and waits until the question has arrived.
func asks(t *testing.T, x *node, h *playedHead, id ID) *asked {
	q := &asked{got: make(chan answer, 1)}
	from, _ := joined(t, func(m *wire.Message) { q.Question = x.Ask(h, m, id, caller, func() { q.overs++ }) })
	go func() {
		var d wire.ActorDeath
		err := from.Call(context.Background(), wire.TActorLost, nil, &d)
		q.got <- answer{d, err}
	}()
	synctest.Wait()
	return q
}

// answered returns the answer, nil if there is none.
func (q *asked) answered() *answer {
	synctest.Wait()
	select {
	case a := <-q.got:
		return &a
	default:
		return nil
	}
}
