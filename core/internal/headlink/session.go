package headlink

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/labels"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/place"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// node is what the head keeps of one process of a node, also while it is not connected. The server's lock guards it.
type node struct {
	number  uint32
	client  [16]byte // zero while the process has not connected
	session *session // nil while it is not connected
	orders  outbox
	id      ids.Node // its long name; zero while the process has not connected
	wire    int      // the version of package wire that its processes speak; 0 while the process has not connected
	heard   bool     // it has said what it has free

	// Of the newest connection, also when that has ended.
	connection uint64 // its number at the node
	place      uint64 // its place among all connections to the server

	// Reports: see serverreports.go.
	arrived    uint64 // the last one that arrived
	committed  uint64 // the last one that is committed
	waiting    []linkmsg.Told
	committing bool // a goroutine commits reports
}

// pump sends the orders that may be sent; the server's lock is held.
func (n *node) pump() {
	for n.session != nil {
		_, b, ok := n.orders.next()
		if !ok {
			return
		}
		_ = n.session.peer.Push(linkmsg.TOrder, rawBody(b)) // a connection that has failed is noticed by its end
	}
}

// acknowledge tells the node which reports are committed; the server's lock is held.
func (n *node) acknowledge() {
	if n.session == nil || n.committed == 0 {
		return
	}
	if b, err := linkmsg.Encode("a number", &linkmsg.Number{N: n.committed}); err == nil {
		_ = n.session.peer.Push(linkmsg.TReported, b)
	}
}

// leave parts the node from its connection, which it returns; the server's lock is held.
func (n *node) leave() *wire.Peer {
	if n.session == nil {
		return nil
	}
	p := n.session.peer
	n.session.node, n.session = nil, nil
	return p
}

// isNewer reports whether there was a newer connection than the one with that hello and that place; the server's lock is
// held. A hello may be read late: when its connection has been replaced already, and nobody has noticed its end here.
// The node's process numbers its connections. It does not know those of a process before it.
func (n *node) isNewer(h *linkmsg.Hello, place uint64) bool {
	if n.client == h.Client {
		return n.connection > h.Connection
	}
	return n.place > place
}

// session is one connection from a node.
type session struct {
	s      *Server
	number uint32
	place  uint64 // among all connections to the server
	peer   *wire.Peer
	ctx    context.Context
	cancel context.CancelFunc

	// Of the hello; read when greeted is set.
	greeted atomic.Bool
	client  [16]byte
	id      ids.Node

	// The server's lock guards these.
	node *node             // nil before the hello, and when a newer connection has taken over
	asks map[uint64]func() // how the requests that are being served are ended
}

// end forgets the connection.
func (c *session) end() {
	c.cancel()
	for _, stop := range c.leave() {
		stop()
	}
}

func (c *session) leave() map[uint64]func() {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	delete(c.s.peers, c.peer)
	if c.node != nil {
		c.node.leave()
		c.s.placing.decide(func(m *place.Machine) { m.NodeSilent(place.Node(c.number)) })
	}
	asks := c.asks
	c.asks = nil
	return asks
}

// handle takes a message of the node. An error closes the connection.
func (c *session) handle(m *wire.Message) error {
	if m.Type == linkmsg.THello {
		c.awaitHead(m)
		return nil
	}
	if !c.greeted.Load() {
		return fmt.Errorf("%s came before the hello", m.Type)
	}
	switch m.Type {
	case linkmsg.TAsk:
		return c.ask(m)
	case linkmsg.TDrop:
		return c.drop(m)
	case linkmsg.TReport:
		return c.report(m)
	case linkmsg.TOrderTaken:
		return c.orderTaken(m)
	case linkmsg.TStock, linkmsg.TWant, linkmsg.TSettled:
		return c.placing(m)
	case linkmsg.TBeat:
		var n linkmsg.Number
		if err := linkmsg.Decode("a heartbeat", m.Body, linkmsg.MaxHello, &n); err != nil {
			return err
		}
		c.heartbeat(n.N)
		return nil
	}
	return fmt.Errorf("%s is nothing that a node says", m.Type)
}

// awaitHead takes a hello when the head can serve.
func (c *session) awaitHead(m *wire.Message) {
	select {
	case <-c.s.ready:
		c.hello(m)
	default:
		go func() {
			select {
			case <-c.s.ready:
				c.hello(m)
			case <-c.ctx.Done():
			}
		}()
	}
}

// hello lets a node in, or says why not.
func (c *session) hello(m *wire.Message) {
	var h linkmsg.Hello
	err := linkmsg.Decode("a node's hello", m.Body, linkmsg.MaxHello, &h)
	if err == nil {
		err = linkmsg.CheckVersion(fmt.Sprintf("node %d", c.number), h.Version, h.MinVersion)
	}
	switch {
	case err != nil:
	case h.Node != c.number:
		err = fault.New(fault.BadRequest, "the connection is that of node %d, and the hello names node %d", c.number, h.Node)
	case h.WireOf() <= 0:
		err = fault.New(fault.BadRequest, "the hello of node %d does not say which version its processes speak", c.number)
	case h.First == 0 || h.Client == ([16]byte{}):
		err = fault.New(fault.BadRequest, "the hello of node %d names no report, or not its process", c.number)
	}
	var before *wire.Peer
	if err == nil {
		before, err = c.join(m, &h)
	}
	if before != nil {
		before.Close()
	}
	if err != nil {
		_ = m.Fail(err)
		c.s.log.Warn("a node is refused", "node", c.number, "error", err)
	}
}

// join makes this the connection of its node, and sends what the node does not have yet. It returns the connection
// before.
func (c *session) join(m *wire.Message, h *linkmsg.Hello) (before *wire.Peer, err error) {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || c.asks == nil {
		return nil, fault.New(fault.Closed, "the head is ending")
	}
	if c.greeted.Load() {
		return nil, fault.New(fault.BadRequest, "node %d says hello again on the same connection", c.number)
	}
	for _, known := range s.known.nodes {
		if err := oneName(known, c.number, h.ID); err != nil {
			return nil, err
		}
	}
	n := s.nodes[c.number]
	if n != nil && n.isNewer(h, c.place) {
		return nil, fault.New(fault.BadRequest, "there is a newer connection of node %d", c.number)
	}
	if n != nil {
		before = n.leave()
	}
	another := false // process of the node
	switch {
	case n != nil && n.client == h.Client:
		// Between an earlier hello and this one the node may have spoken with another head, which has committed what this one waits for.
		n.arrived, n.committed = max(n.arrived, h.First-1), max(n.committed, h.First-1)
	case n != nil && n.client == ([16]byte{}): // there are orders for it already
		n.client, n.arrived, n.committed = h.Client, h.First-1, h.First-1
	default: // a process of the node before it is gone, and its orders are, too
		another = n != nil
		n = &node{number: c.number, client: h.Client, orders: newOutbox(), arrived: h.First - 1, committed: h.First - 1}
		s.nodes[c.number] = n
	}
	if h.Boot != s.boot {
		n.orders.restart()
	} else {
		err := n.orders.resume(h.Orders)
		if err == nil {
			err = n.orders.acknowledged(h.Orders)
		}
		if err != nil {
			return before, fault.New(fault.BadRequest, "the hello of node %d, orders: %v", c.number, err)
		}
	}
	w, err := linkmsg.Encode("the welcome", &linkmsg.Welcome{
		Version: linkmsg.Version, MinVersion: linkmsg.MinVersion, Boot: s.boot, Reports: n.arrived, Orders: n.orders.first, DeadMs: s.deadAfter(),
	})
	if err != nil {
		return before, err
	}
	c.node, n.session = n, c
	n.id, n.wire = h.ID, h.WireOf()
	n.connection, n.place = h.Connection, c.place
	c.client, c.id = h.Client, h.ID
	c.greeted.Store(true)
	_ = m.Reply(w)
	n.acknowledge() // the acknowledgement may have been lost with the connection before
	s.tellWire(h.ID)
	for _, b := range s.known.all() {
		_ = c.peer.Push(linkmsg.TNews, b)
	}
	n.pump()
	s.placing.decide(func(m *place.Machine) {
		if another {
			m.NodeGone(place.Node(c.number))
		}
		m.NodeUp(place.Node(c.number))
		m.Speaks(place.Node(c.number), place.Protocol(h.WireOf()))
		m.Name(place.Node(c.number), h.ID)
		if r, known := s.recordOf(h.ID); known {
			m.Label(place.Node(c.number), labels.WithID(r.Labels, r.ID))
			m.Drain(place.Node(c.number), r.Drain != nil)
		}
	})
	return before, nil
}

// orderTaken takes a node's acknowledgement.
func (c *session) orderTaken(m *wire.Message) error {
	var n linkmsg.Number
	if err := linkmsg.Decode("an acknowledgement", m.Body, linkmsg.MaxHello, &n); err != nil {
		return err
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.node == nil {
		return nil
	}
	if err := c.node.orders.acknowledged(n.N); err != nil {
		return fmt.Errorf("orders: %w", err)
	}
	c.node.pump()
	return nil
}
