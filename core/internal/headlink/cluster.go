package headlink

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/place"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A node tells the head what it has free, and for which leases it has no room. The head offers leases of other nodes.
// Nothing of that is kept for a connection that is not there: on each new one the node says everything as it is then.

// Placed is told what the head decides about the node's processes. Its methods must not wait. They are called one
// after the other and in order.
type Placed interface {
	// LeaseOffered says that another node has room. The offer is settled later, with Unused or by the other node.
	LeaseOffered(o place.Offer)
	// WantInfeasible says that no node can ever give what a class needs.
	WantInfeasible(i place.Infeasible)
}

// stockEvery is the least time between two messages about what is free that belong to no offer.
const stockEvery = 5 * time.Millisecond

// placing is what the head has to know for its decisions. The client's lock guards it.
type placing struct {
	wants map[wanted]msgpack.RawMessage // what overflows, as it was said last
	stock *resource.Stock               // as the daemon has said last; nil before the first time
	said  *resource.Stock               // as the head has heard on this connection; nil if it has not
	at    time.Time                     // when it was told
	timer *time.Timer                   // tells it; nil when nothing is to be told
}

// wanted names a class of a process of this node.
type wanted struct {
	client uint64
	class  uint32
}

// Want says how many leases of a class this node has no room for. It replaces what was said of the class before. Where the
// head may choose this node, too, it first hears what is free here.
func (c *Client) Want(client uint64, class uint32, w place.Want) {
	q := linkmsg.Want{Client: client, Class: class, Job: w.Job, Name: cut(w.Name), N: w.N, Due: w.Due, Offered: w.Offered, Strategy: w.Strategy.Text(), Home: w.Home}
	for _, n := range w.Near {
		q.Near = append(q.Near, uint32(n))
	}
	for _, need := range w.Needs {
		q.Needs = append(q.Needs, need.Wire())
	}
	b, err := linkmsg.Encode("a want", &q)
	if err == nil && len(b) > linkmsg.MaxPlace {
		err = fmt.Errorf("it has %d bytes, at most %d are allowed", len(b), linkmsg.MaxPlace)
	}
	if err != nil {
		c.o.Log.Error("a want is not sent to the head", "function", q.Name, "error", err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	if k := (wanted{client, class}); w.N > 0 {
		c.placing.wants[k] = b
	} else {
		delete(c.placing.wants, k)
	}
	if c.peer != nil {
		if w.Home {
			c.tellStock()
		}
		_ = c.peer.Push(linkmsg.TWant, b)
	}
}

// Stock says what this node has, and what of it is free.
func (c *Client) Stock(s resource.Stock) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.placing.stock = &s
	if c.peer == nil || c.placing.timer != nil {
		return
	}
	if wait := stockEvery - time.Since(c.placing.at); wait > 0 {
		c.placing.timer = time.AfterFunc(wait, c.stockDue)
		return
	}
	c.tellStock()
}

func (c *Client) stockDue() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.placing.timer = nil
	if c.peer != nil {
		c.tellStock()
	}
}

// tellStock sends what is free, unless the head has heard it; mu held, and there is a connection.
func (c *Client) tellStock() {
	p := &c.placing
	if p.stock == nil || p.said != nil && p.said.Equal(*p.stock) {
		return
	}
	c.tell(linkmsg.TStock, linkmsg.StockOf(*p.stock))
	p.said, p.at = p.stock, time.Now()
}

// Settled says that a guest has used up a ticket: how many leases it has got or will get for it, and what is free now.
func (c *Client) Settled(ticket uint64, took int, s resource.Stock) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.placing.stock = &s
	if c.peer == nil {
		return // the ticket expires
	}
	t := linkmsg.StockOf(s)
	c.tell(linkmsg.TSettled, linkmsg.Settled{Ticket: ticket, Took: took, Stock: &t})
	c.placing.said, c.placing.at = &s, time.Now()
}

// Unused says that a process of this node does not use an offer.
func (c *Client) Unused(ticket uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.peer != nil {
		c.tell(linkmsg.TSettled, linkmsg.Settled{Ticket: ticket})
	}
}

// tell sends a small message; mu held, and there is a connection.
func (c *Client) tell(t wire.Type, body any) {
	b, err := linkmsg.Encode("what this node has free", body)
	if err != nil {
		c.o.Log.Error("the head is not told what this node has free", "error", err)
		return
	}
	_ = c.peer.Push(t, b)
}

// tellAll begins a connection: the head hears what is free, and then what is wanted; mu held.
func (c *Client) tellAll() {
	c.placing.said = nil
	c.tellStock()
	for _, k := range slices.SortedFunc(maps.Keys(c.placing.wants), func(a, b wanted) int {
		return cmp.Or(cmp.Compare(a.client, b.client), cmp.Compare(a.class, b.class))
	}) {
		_ = c.peer.Push(linkmsg.TWant, c.placing.wants[k])
	}
}

// offer takes an offer of the head.
func (c *Client) offer(m *wire.Message) error {
	var o linkmsg.Offer
	err := linkmsg.Decode("an offer", m.Body, linkmsg.MaxHello, &o)
	if err == nil {
		err = o.Check()
	}
	if err != nil {
		return err
	}
	c.placed(m.Peer(), func(p Placed) {
		p.LeaseOffered(place.Offer{To: c.key(o.Client, o.Class), Node: place.Node(o.Node), N: o.N, Choice: o.Choice, Ticket: place.Ticket(o.Ticket), Recall: o.Recall})
	})
	return nil
}

// infeasible takes the head's word that no node can serve a class.
func (c *Client) infeasible(m *wire.Message) error {
	var i linkmsg.Infeasible
	if err := linkmsg.Decode("a class that no node can serve", m.Body, linkmsg.MaxPlace, &i); err != nil {
		return err
	}
	c.placed(m.Peer(), func(p Placed) {
		p.WantInfeasible(place.Infeasible{To: c.key(i.Client, i.Class), Message: i.Message, Busy: i.Busy})
	})
	return nil
}

func (c *Client) key(client uint64, class uint32) place.Key {
	return place.Key{Node: place.Node(c.o.Number), Client: client, Class: class}
}

// placed tells the node something that came on a connection, if that is the present one.
func (c *Client) placed(from *wire.Peer, f func(Placed)) {
	c.orders.Lock()
	defer c.orders.Unlock()
	if c.o.Placed != nil && c.talksOn(from) {
		f(c.o.Placed)
	}
}
