package client

import (
	"fmt"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/guests"
	"github.com/eagleray/eagleray/core/internal/leases"
	"github.com/eagleray/eagleray/core/internal/notice"
	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Leases of other nodes. The own daemon offers them; this process becomes a guest of the other node's
// daemon, which is asked for the lease, grants it, and gets it back.

var _ guests.Host = (*host)(nil)

// maxOffer bounds how many leases an offer or a refusal is about: a class asks for no more at a time.
const maxOffer = leases.MaxWant

// offered takes an offer of the own daemon.
func (c *Client) offered(o *wire.LeaseOffer) error {
	if o.N < 1 || o.N > maxOffer {
		return fmt.Errorf("an offer of %d leases, and it may have 1 to %d", o.N, maxOffer)
	}
	var err error
	c.event(func(s *submit.Submitter) {
		if o.Node == 0 || o.Node == c.self.Node() {
			err = fmt.Errorf("an offer of leases of node %d, and this is node %d", o.Node, c.self.Node())
			return
		}
		if o.Env != nil {
			if c.envs == nil {
				c.envs = make(map[string]*wire.EnvSpec)
			}
			c.envs[o.Env.Key] = o.Env
		}
		s.LeaseOffered(o)
	})
	return err
}

// Heard implements guests.Host: it handles what another node's daemon pushes, on that connection's goroutine.
func (h *host) Heard(node uint32, m *wire.Message) {
	c := (*Client)(h)
	if err := c.fromHome(node, m); err != nil {
		c.notes.Add(notice.Note{Warning: fmt.Sprintf("message from the daemon of node %d was not understood: %v", node, err)})
		_ = m.Fail(err)
	}
}

// maxReason is how many bytes are kept of why another node's daemon ends.
const maxReason = 8 << 10

// HomeLost implements guests.Host.
func (h *host) HomeLost(node uint32, why error) {
	if !h.Closed() {
		h.submit.HomeLost(node, why)
	}
}

// fromHome handles a message of another node's daemon, which speaks of leases only, and of its own ones.
func (c *Client) fromHome(node uint32, m *wire.Message) error {
	var lease uint64
	var f func(s *submit.Submitter)
	var err error
	switch m.Type {
	case wire.TLeaseGrant:
		g := new(wire.LeaseGrant)
		err = m.Decode(g)
		lease, f = g.LeaseID, func(s *submit.Submitter) { s.LeaseGrantedAt(node, g) }
	case wire.TLeaseRecall, wire.TLeaseWanted:
		var r wire.LeaseRef
		err = m.Decode(&r)
		lease, f = r.LeaseID, func(s *submit.Submitter) { s.LeaseRecalled(r.LeaseID) }
		if m.Type == wire.TLeaseWanted {
			f = func(s *submit.Submitter) { s.LeaseWanted(r.LeaseID) }
		}
	case wire.TLeaseBroken:
		b := new(wire.LeaseBroken)
		err = m.Decode(b)
		lease, f = b.LeaseID, func(s *submit.Submitter) { s.LeaseBroken(b) }
	case wire.TLeaseRefused:
		r := new(wire.LeaseRefused)
		if err = m.Decode(r); err == nil && (r.N < 1 || r.N > maxOffer) {
			err = fmt.Errorf("%d leases are refused, and it may be 1 to %d", r.N, maxOffer)
		}
		lease, f = uint64(node)<<32, func(s *submit.Submitter) { s.LeaseRefused(node, r) }
	case wire.TClassInfeasible:
		var t wire.ClassTrouble
		err = m.Decode(&t)
		lease, f = uint64(node)<<32, func(s *submit.Submitter) { s.ClassTroubleAt(node, t.ClassID, troubleOf(&t)) }
	case wire.TEnding:
		var e wire.Ending
		err = m.Decode(&e)
		lease, f = uint64(node)<<32, func(*submit.Submitter) { c.guests.Ends(node, e.Reason[:min(len(e.Reason), maxReason)]) }
	default:
		return fault.New(fault.BadRequest, "%s is not for a guest", m.Type)
	}
	if err != nil {
		return err
	}
	if of := leases.NodeOf(lease); of != node {
		return fault.New(fault.BadRequest, "%s is about a lease of node %d", m.Type, of)
	}
	c.event(func(s *submit.Submitter) {
		if c.guests.Current(node, m) {
			f(s)
		}
	})
	return nil
}
