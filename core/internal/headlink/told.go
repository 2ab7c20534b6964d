package headlink

import (
	"fmt"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// Handle takes a message of the head. It reports false for a message that is not one of this conversation.
func (c *Client) Handle(m *wire.Message) bool {
	c.hears(m.Peer())
	var err error
	switch m.Type {
	case linkmsg.TReported:
		err = c.reported(m)
	case linkmsg.TOrder:
		err = c.order(m)
	case linkmsg.TNews:
		err = c.news(m)
	case linkmsg.TOffer:
		err = c.offer(m)
	case linkmsg.TCounted:
		err = c.counted(m)
	case linkmsg.TInfeasible:
		err = c.infeasible(m)
	default:
		return false
	}
	if err != nil {
		c.o.Log.Error("a message of the head cannot be understood: the connection is closed", "error", err)
		m.Peer().Close()
	}
	return true
}

// order carries out an order of the head, once.
func (c *Client) order(m *wire.Message) error {
	var told linkmsg.Told
	if err := linkmsg.Decode("an order", m.Body, wire.MaxControl, &told); err != nil {
		return err
	}
	c.orders.Lock()
	defer c.orders.Unlock()
	boot, wanted, err := c.isNext(m.Peer(), told.N)
	if err != nil {
		return err
	}
	if wanted {
		if err := c.carryOut(&told); err != nil {
			// The head would only send it again. It learns by other means that nothing happened.
			c.o.Log.Error("an order of the head is not carried out", "number", told.N, "error", err)
		}
	}
	return c.took(m.Peer(), boot, told.N)
}

// isNext reports whether an order is to be carried out and was not before, and which process of the head gave it.
func (c *Client) isNext(p *wire.Peer, n uint64) (boot [16]byte, wanted bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.peer != p {
		return boot, false, nil
	}
	if n > c.taken+1 {
		return boot, false, fmt.Errorf("order %d came after order %d", n, c.taken)
	}
	return c.boot, n == c.taken+1, nil
}

// took notes that an order was carried out, also when the connection has ended meanwhile, and tells the head.
func (c *Client) took(p *wire.Peer, boot [16]byte, n uint64) error {
	b, err := linkmsg.Encode("a number", &linkmsg.Number{N: n})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.boot == boot {
		c.taken = max(c.taken, n)
	}
	if c.peer == p {
		_ = p.Push(linkmsg.TOrderTaken, b)
	}
	return nil
}

func (c *Client) carryOut(told *linkmsg.Told) error {
	switch told.Kind {
	case linkmsg.StartActor:
		var s linkmsg.Start
		if err := linkmsg.Decode("the actor to be started", told.Body, wire.MaxControl, &s); err != nil {
			return err
		}
		c.o.Node.PlaceActor(s.Actor, s.Ticket)
	case linkmsg.WithdrawActor:
		var w linkmsg.Withdraw
		if err := linkmsg.Decode("the actor to be withdrawn", told.Body, maxReport, &w); err != nil {
			return err
		}
		c.o.Node.WithdrawActor(w.Instance, w.Ticket)
	case linkmsg.StopActor:
		var s linkmsg.Stop
		if err := linkmsg.Decode("the actor to be stopped", told.Body, maxReport, &s); err != nil {
			return err
		}
		c.o.Node.StopActor(s.Instance, s.Drain)
	case linkmsg.EndActor:
		var s linkmsg.Stop
		if err := linkmsg.Decode("the actor to be ended", told.Body, maxReport, &s); err != nil {
			return err
		}
		c.o.Node.EndActor(s.Instance)
	default:
		return c.bundleOrder(told)
	}
	return nil
}

// news takes records of the cluster.
func (c *Client) news(m *wire.Message) error {
	var news linkmsg.News
	if err := linkmsg.Decode("news of the cluster", m.Body, wire.MaxControl, &news); err != nil {
		return err
	}
	c.orders.Lock()
	defer c.orders.Unlock()
	if !c.talksOn(m.Peer()) {
		return nil
	}
	for _, n := range news.Nodes {
		if n.Number == c.o.Number && n.State == record.NodeDead {
			c.toldDead()
		}
		c.o.Node.NodeIs(n)
	}
	for _, j := range news.Jobs {
		c.o.Node.JobIs(j)
	}
	return nil
}
