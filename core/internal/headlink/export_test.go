package headlink

import (
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/record"
)

// Unreported returns how many reports are not acknowledged.
func (c *Client) Unreported() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.reports.items)
}

// Asked returns how many requests have no answer.
func (c *Client) Asked() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.asks)
}

// CarryOut carries out an order as if it had come from the head.
func (c *Client) CarryOut(o *linkmsg.Told) error { return c.carryOut(o) }

// Untaken returns how many orders to a node are not acknowledged.
func (s *Server) Untaken(number uint32) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.nodes[number]; n != nil {
		return len(n.orders.items)
	}
	return 0
}

// Served returns how many requests are being served.
func (s *Server) Served() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.peers {
		n += len(c.asks)
	}
	return n
}

// Connections returns how many connections there are.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.peers)
}

// Order has a node start an actor, whatever the machine of package place knows.
func (s *Server) Order(number uint32, a record.Actor) error {
	return s.order(number, linkmsg.StartActor, &linkmsg.Start{Actor: a, Ticket: 1})
}

// ReplacementLate is what happens when no node has come some time after the loss of one.
func (s *Server) ReplacementLate() { s.replacementLate() }

// Fenced returns how many exclusive actors wait for the end of earlier incarnations.
func (s *Server) Fenced() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.fenced)
}
