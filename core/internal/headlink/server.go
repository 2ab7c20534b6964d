package headlink

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/inquiry"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/place"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// Head is the head that a Server serves. *head.Head has these methods; they are described there.
type Head interface {
	inquiry.Head

	// AwaitReports waits until all reports so far are committed, and LostReports counts those that could not be.
	AwaitReports(ctx context.Context) error
	LostReports() uint64

	// CommitPlaced is ActorPlaced, and returns when it is committed. ActorFeasible takes ActorInfeasible back.
	CommitPlaced(ctx context.Context, i record.Instance) error
	ActorFeasible(i record.Instance)
	// ActorKept says that a node has the instance.
	ActorKept(i record.Instance)

	// GroupPrepared says that nodes have set all bundles of a group aside, and GroupInfeasible why they never can; "": they can.
	GroupPrepared(id ids.Group, epoch uint64, nodes []ids.Node)
	GroupInfeasible(id ids.Group, message string)
}

// Server serves a head to the nodes.
type Server struct {
	head Head // set by Serve, before ready is closed
	log  *slog.Logger
	boot [16]byte // a random name of this process
	ends sync.WaitGroup
	ctx  context.Context
	stop context.CancelFunc

	ready chan struct{} // closed when the head's state is whole

	mu     sync.Mutex
	closed bool
	taken  uint64 // how many connections there were
	nodes  map[uint32]*node
	peers  map[*wire.Peer]*session
	known  records
	// records returns a node's record, as the state has it now; nil: known has to do.
	records func(ids.Node) (record.Node, bool)

	// See serverplace.go.
	placing   *placer
	followed  bool // known has all nodes
	awaits    bool // what the machine was told last by await
	lostNode  bool // a node was lost a moment ago
	lossTimer *time.Timer

	lives  lives  // see lives.go
	fenced fences // see fence.go
}

// NewServer returns a Server without connections, which takes orders for nodes. Nodes are welcomed after Serve. Log may
// be nil.
func NewServer(log *slog.Logger) *Server {
	if log == nil {
		log = slog.Default()
	}
	s := &Server{log: log, ready: make(chan struct{}), nodes: map[uint32]*node{}, peers: map[*wire.Peer]*session{}, known: newRecords(), fenced: fences{}}
	_, _ = rand.Read(s.boot[:]) // it never fails
	s.placing, s.awaits = newPlacer(s.boot, s.decided, s.tick), true
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Records says from where the records of nodes come. It is called before there is a head.
func (s *Server) Records(of func(ids.Node) (record.Node, bool)) { s.records = of }

// Serve gives the server its head, once. Nodes are welcomed when the head leads and has read its whole state back:
// a head that was just started on its stores would say for a moment that it knows nobody.
func (s *Server) Serve(h Head) {
	s.head = h
	s.ends.Go(func() {
		for s.ctx.Err() == nil {
			err := h.AwaitReports(s.ctx)
			if err == nil {
				s.beginToJudge()
				close(s.ready)
				return
			}
			s.log.Error("the head does not begin to serve", "error", err)
			s.pause()
		}
	})
}

// pause waits a little, or until the server is closed.
func (s *Server) pause() {
	select {
	case <-time.After(lostPause):
	case <-s.ctx.Done():
	}
}

// Connected begins a conversation on a new connection from the node with that number. The peer's handler has
// to pass its messages to Handle.
func (s *Server) Connected(number uint32, p *wire.Peer) {
	c := &session{s: s, number: number, peer: p, asks: map[uint64]func(){}}
	c.ctx, c.cancel = context.WithCancel(s.ctx)
	if !s.enter(c) {
		c.cancel()
		p.Close()
	}
}

// enter notes a connection, and has its end noticed. It reports false after Close.
func (s *Server) enter(c *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.taken++
	c.place = s.taken
	s.peers[c.peer] = c
	s.ends.Go(func() {
		<-c.peer.Done()
		c.end()
	})
	return true
}

// Handle takes a message of a node. It reports false for a message that is not one of this conversation.
func (s *Server) Handle(m *wire.Message) bool {
	if m.Type < linkmsg.THello || m.Type > linkmsg.TCounted {
		return false
	}
	c := s.sessionOf(m.Peer())
	if c == nil { // the connection has ended, or nobody has said whose it is
		m.Peer().Close()
		return true
	}
	if err := c.handle(m); err != nil {
		s.log.Error("a message of a node cannot be understood: the connection is closed", "node", c.number, "error", err)
		m.Peer().Close()
	}
	return true
}

func (s *Server) sessionOf(p *wire.Peer) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peers[p]
}

// order gives an order to a node. It waits until the node is connected, or Forget is called. The error says that it
// cannot be sent.
func (s *Server) order(number uint32, kind linkmsg.Kind, body any) error {
	b, err := linkmsg.Encode(fmt.Sprintf("an order %q", kind), body)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.give(number, kind, b)
}

// give gives an order to a node; mu held.
func (s *Server) give(number uint32, kind linkmsg.Kind, body msgpack.RawMessage) error {
	if s.closed {
		return record.ErrClosed
	}
	n := s.nodes[number]
	if n == nil { // it has not come back since this process began
		n = &node{number: number, orders: newOutbox()}
		s.nodes[number] = n
	}
	told, err := linkmsg.Encode("an order", &linkmsg.Told{N: n.orders.first + uint64(len(n.orders.items)), Kind: kind, Body: body})
	if err != nil {
		return err
	}
	n.orders.add(told)
	n.pump()
	return nil
}

// Forget drops what is kept for a node that is dead, and closes its connection.
func (s *Server) Forget(number uint32) {
	if p := s.forget(number); p != nil {
		p.Close()
	}
}

func (s *Server) forget(number uint32) *wire.Peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.nodes[number]
	delete(s.nodes, number)
	delete(s.lives.unreachable, number)
	s.awaitReplacement()
	s.placing.decide(func(m *place.Machine) { m.NodeGone(place.Node(number)) })
	if n == nil {
		return nil
	}
	return n.leave()
}

// Close ends all conversations and waits until nothing is served any more. The head is closed after it.
func (s *Server) Close() {
	for _, p := range s.close() {
		p.Close()
	}
	s.stop()
	s.ends.Wait()
}

func (s *Server) close() (open []*wire.Peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.lossTimer != nil {
		s.lossTimer.Stop()
	}
	s.placing.end()
	if t := s.lives.timer; t != nil {
		t.Stop()
	}
	for p := range s.peers {
		open = append(open, p)
	}
	return open
}
