package headgroup

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/raftstate"
)

// Options are what a Group needs.
type Options struct {
	ID     string // Raft's name of this head
	Number uint32 // and its number
	// Generation counts the recoveries of the cluster.
	Generation uint32
	Book       *Book
	// Dial makes a connection for Raft to another head, and Control returns the control stream with one.
	Dial    func(ctx context.Context, number uint32) (net.Conn, error)
	Control func(number uint32) (*wire.Peer, error)
	// Keys returns the version of the keyring that this head has.
	Keys func() uint64
	// Revoke takes its certificate from a head that was removed.
	Revoke func(ctx context.Context, number uint32) error
	// Lacks returns how many large values this head is still to get from others. Nil: none.
	Lacks func() int
	// Stalled reports whether a write of the log takes too long. Nil: the log is in memory.
	Stalled func() bool
	Log     *slog.Logger
}

// Group is the part of a head that knows the other heads.
type Group struct {
	o         Options
	layer     *layer
	transport *transport
	suspects  suspects
	said      said
	led       atomic.Pointer[string] // the latest leader, which may be gone
	state     *raftstate.Node        // set by Begin, before anything comes from another head
	ctx       context.Context
	stop      context.CancelFunc

	level   atomic.Int64 // the lowest of all heads, as Lowest has found it; 0: not known
	removed removal

	whole   atomic.Bool // the state shows all that was committed before this head began, so the book follows it
	reading sync.Mutex  // held while the book is made as the state is

	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup
	peers  map[*wire.Peer]bool // of all sessions with nodes and heads
	serves uint64              // the term in which this head serves as the leader; 0: it does not
	seen   *seen               // while this head leads
	told   chan struct{}       // buffered by one: who leads is to be said again
}

// New returns a Group for a state that is about to be opened with its Transport, and with the Group as its Forwarder.
func New(o Options) *Group {
	g := &Group{o: o, peers: map[*wire.Peer]bool{}, removed: removal{done: make(chan struct{})}, told: make(chan struct{}, 1)}
	g.ctx, g.stop = context.WithCancel(context.Background())
	g.layer = &layer{g: g, came: make(chan net.Conn), done: make(chan struct{})}
	raftLog := hclog.New(&hclog.LoggerOptions{Name: "raft", Level: hclog.Error, Output: RaftLog(o.Log)})
	g.transport = newTransport(g, raftLog)
	return g
}

// Transport is Raft's.
func (g *Group) Transport() raft.Transport { return g.transport }

// Begin begins to work with the state. Nothing may come from another head before.
func (g *Group) Begin(state *raftstate.Node) {
	g.state = state
	g.goWork(g.follow)
	g.goWork(g.awaitWhole)
	g.goWork(g.announce)
}

// Close ends what the group does. The state is closed before it.
func (g *Group) Close() {
	g.stop()
	_ = g.transport.NetworkTransport.Close()
	g.shut()
	g.work.Wait()
}

func (g *Group) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// goWork starts a goroutine that Close waits for.
func (g *Group) goWork(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.work.Go(f)
	}
}

// Note writes where this head is into the state of the cluster. It returns when this head's state shows it: then this head has all that was
// committed before the call.
func (g *Group) Note(ctx context.Context, addresses []string) error {
	e := Entry{HeadAt: linkmsg.HeadAt{ID: g.o.ID, Number: g.o.Number, Addresses: addresses, Level: raftstate.Level}}
	err := g.state.Fresh(ctx) // after a start the state is that of the last snapshot, which may be older than what an administrator has changed
	if old, known := g.own(); known {
		e.Voter, e.Removed = old.Voter, old.Removed
	}
	var b []byte
	if err == nil {
		b, err = e.Encode()
	}
	if err == nil {
		err = g.state.PutSetting(ctx, SettingOf(g.o.ID), b)
	}
	if err != nil {
		return fmt.Errorf("note the addresses of this head: %w", err)
	}
	return nil
}

// RaftLog returns where Raft writes its warnings: into the log of the head.
func RaftLog(log *slog.Logger) io.Writer { return logWriter{log} }

// logWriter gives Raft's lines to the log of the head.
type logWriter struct{ log *slog.Logger }

func (w logWriter) Write(b []byte) (int, error) {
	w.log.Warn("raft", "says", strings.TrimSpace(string(b)))
	return len(b), nil
}
