package headlink_test

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/headlink"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/place"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/strategy"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// member is a node of a cluster, which writes down what is placed for it.
type member struct {
	*playedNode
	number uint32
	id     ids.Node
	client *headlink.Client
	peer   *wire.Peer // the present connection
	heard  *counted

	offers sync.Mutex
	list   []string
	last   place.Offer
}

// counted counts the messages of each type that arrive at the head.
type counted struct {
	mu sync.Mutex
	n  map[wire.Type]int
}

func (c *counted) add(t wire.Type) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[t]++
}

func (c *counted) of(t wire.Type) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[t]
}

func (m *member) LeaseOffered(o place.Offer) {
	m.offers.Lock()
	defer m.offers.Unlock()
	m.last = o
	m.list = append(m.list, fmt.Sprintf("%d of node %d to %s choice %d", o.N, o.Node, o.To, o.Choice))
}

func (m *member) WantInfeasible(i place.Infeasible) {
	m.offers.Lock()
	defer m.offers.Unlock()
	m.list = append(m.list, fmt.Sprintf("infeasible %s: %s", i.To, i.Message))
}

// told returns what the node was told since the last time, and the last offer.
func (m *member) told() ([]string, place.Offer) {
	m.offers.Lock()
	defer m.offers.Unlock()
	list := m.list
	m.list = nil
	return list, m.last
}

// expect waits until the node has been told this, and nothing else.
func (m *member) expect(t testing.TB, want string) place.Offer {
	t.Helper()
	var list []string
	var o place.Offer
	until(t, fmt.Sprintf("node %d is told %q", m.number, want), func() bool {
		list, o = m.told()
		return len(list) > 0
	})
	if len(list) != 1 || !strings.HasPrefix(list[0], want) {
		t.Errorf("node %d is told %q, want %q", m.number, list, want)
	}
	return o
}

// cluster returns a world with a head and nodes of these numbers, which are not connected.
func cluster(t testing.TB, numbers ...uint32) (w *world, list []*member) {
	w = newWorld(t, true)
	w.startHead(true)
	for _, number := range numbers {
		list = append(list, newMember(t, number))
	}
	return w, list
}

// newMember returns a node that is not connected, and that sends no heartbeats.
func newMember(t testing.TB, number uint32) *member {
	m := &member{playedNode: newPlayedNode(), number: number, id: ids.Node{byte(number)}, heard: &counted{n: map[wire.Type]int{}}}
	m.client = headlink.NewClient(headlink.ClientOptions{Number: number, ID: m.id, Node: m, Placed: m, Log: quiet()})
	t.Cleanup(m.client.Close)
	return m
}

// joins connects a node with the head and registers it.
func (w *world) joins(m *member) {
	w.t.Helper()
	w.meets(m)
	if err := m.client.RegisterNode(w.ctx, record.Node{ID: m.id, Address: "a", Number: m.number}); err != nil {
		w.t.Fatal(err)
	}
}

// meets connects a node with the head.
func (w *world) meets(m *member) {
	here, there := net.Pipe()
	at := wire.NewPeer(there, func(x *wire.Message) { m.heard.add(x.Type); w.server.Handle(x) }, nil)
	w.server.Connected(m.number, at)
	at.Start()
	m.peer = wire.NewPeer(here, func(x *wire.Message) { m.client.Handle(x) }, nil)
	m.client.Connected(m.peer)
	m.peer.Start()
}

// all returns a stock of which everything is free.
func all(amounts resource.Set) resource.Stock {
	return resource.Stock{Totals: amounts, Free: amounts.Clone()}
}

func wants(n int, need resource.Set) place.Want {
	return place.Want{Job: ids.JobOf(1), Name: "f", Needs: []resource.Set{need}, N: n}
}

var (
	oneCPU = resource.Set{"CPU": resource.Unit}
	oneB   = resource.Set{"b": resource.Unit}
)

// A node's want is offered the room of another one. The offer is settled by either of them.
func TestPlaced_Want_IsOfferedAnotherNode(t *testing.T) {
	w, m := cluster(t, 1, 2)
	a, b := m[0], m[1]
	w.joins(a)
	w.joins(b)
	a.client.Stock(all(oneCPU))
	b.client.Stock(all(resource.Set{"CPU": resource.Unit, "b": resource.Unit}))
	a.client.Want(5, 6, wants(2, oneB))
	o := a.expect(t, "1 of node 2 to 1/5/6 choice 0")
	b.client.Settled(uint64(o.Ticket), 1, resource.Stock{Totals: resource.Set{"CPU": resource.Unit, "b": resource.Unit}, Free: oneCPU})
	until(t, "the ticket is settled", func() bool { return w.server.Sizes()["tickets"] == 0 })
	b.client.Stock(all(resource.Set{"CPU": resource.Unit, "b": resource.Unit}))
	o = a.expect(t, "1 of node 2 to 1/5/6 choice 0")
	a.client.Unused(uint64(o.Ticket))
	until(t, "the ticket is not used", func() bool { return w.server.Sizes()["tickets"] == 0 })
	a.client.Want(5, 6, place.Want{Job: ids.JobOf(1), Offered: 2})
	until(t, "nothing is wanted", func() bool { return w.server.Sizes()["wants"] == 0 })
	if list, _ := b.told(); len(list) != 0 {
		t.Errorf("the other node is told %q", list)
	}
}

// An offer that nobody settles expires, without any further event.
func TestPlaced_OfferIsForgotten_Expires(t *testing.T) {
	w, m := cluster(t, 1, 2)
	w.joins(m[0])
	w.joins(m[1])
	m[0].client.Stock(all(oneCPU))
	m[1].client.Stock(all(oneB))
	m[0].client.Want(5, 6, wants(2, oneB))
	m[0].expect(t, "1 of node 2")
	m[0].expect(t, "1 of node 2")
}

// What was said before there was a connection, or on one that has ended, is said again, and not what has ended.
func TestPlaced_NewConnection_EverythingIsSaidAgain(t *testing.T) {
	w, m := cluster(t, 1, 2)
	a, b := m[0], m[1]
	a.client.Stock(all(oneCPU))
	a.client.Want(5, 6, wants(1, oneB))
	a.client.Want(4, 9, wants(3, resource.Set{"CPU": 2 * resource.Unit}))
	a.client.Want(4, 9, place.Want{})
	b.client.Stock(all(oneB))
	w.joins(b)
	w.joins(a)
	a.expect(t, "1 of node 2 to 1/5/6")
	a.client.Want(5, 6, place.Want{Needs: []resource.Set{oneB}, N: 1, Offered: 1})
	a.peer.Close()
	until(t, "the head forgets what the node wants", func() bool { return w.server.Sizes()["wants"] == 0 })
	w.joins(a)
	a.expect(t, "1 of node 2 to 1/5/6") // the first offer has expired meanwhile
	w.restartHead()
	w.joins(a)
	w.joins(b)
	a.expect(t, "1 of node 2 to 1/5/6")
	w.server.Forget(2)
	if n := w.server.Sizes()["nodes"]; n != 1 {
		t.Errorf("after a death the head knows %d nodes", n)
	}
}

// A new process of the head knows from its state which nodes live, and waits for them before it calls a want infeasible.
func TestPlaced_Infeasible_AllLivingNodesWereHeard(t *testing.T) {
	w, m := cluster(t, 1, 2)
	a, b := m[0], m[1]
	a.client.Stock(all(oneCPU))
	b.client.Stock(all(oneB))
	w.joins(a)
	w.joins(b)
	w.restartHead()
	w.joins(a)
	a.client.Want(5, 6, wants(1, resource.Set{"b": 2 * resource.Unit}))
	until(t, "the head has heard of the want", func() bool { return w.server.Sizes()["wants"] == 1 })
	a.client.Want(5, 7, wants(1, oneB))
	until(t, "the head has heard of both", func() bool { return w.server.Sizes()["wants"] == 2 })
	if list, _ := a.told(); len(list) != 0 {
		t.Errorf("before the other node was heard: %q", list)
	}
	w.joins(b)
	var list []string
	until(t, "the head decides", func() bool {
		more, _ := a.told()
		list = append(list, more...)
		return len(list) == 2
	})
	slices.Sort(list)
	if list[0] != "1 of node 2 to 1/5/7 choice 0" || !strings.HasPrefix(list[1], `infeasible 1/5/6: task f needs {"b": 2} but the nodes of the cluster have at most {"b": 1}`) {
		t.Errorf("got %q", list)
	}
}

// Many changes of what is free are few messages, the last of which arrives.
func TestPlaced_StockChangesOften_FewMessages(t *testing.T) {
	w, m := cluster(t, 1, 2)
	a, b := m[0], m[1]
	w.joins(a)
	w.joins(b)
	a.client.Stock(all(oneCPU))
	a.client.Want(5, 6, wants(1, oneB))
	for i := range 10_000 {
		b.client.Stock(resource.Stock{Totals: oneB, Free: resource.Set{"b": resource.Amount(i)}})
	}
	if n := b.heard.of(linkmsg.TStock); n > 1000 {
		t.Errorf("the head has heard of %d changes of 10000", n)
	}
	b.client.Stock(all(oneB))
	a.expect(t, "1 of node 2 to 1/5/6")
}

// A head that may choose the node of the want hears what is free there before the want, however often that changes. It knows
// the nodes that strategies name.
func TestPlaced_StrategyAndOwnNode_ReachTheMachine(t *testing.T) {
	w, m := cluster(t, 1, 2)
	a, b := m[0], m[1]
	w.joins(a)
	w.joins(b)
	four := resource.Set{"CPU": 4 * resource.Unit}
	a.client.Stock(all(four))
	b.client.Stock(all(resource.Set{"CPU": 4 * resource.Unit, "b": 4 * resource.Unit}))
	a.client.Want(5, 1, wants(1, oneB))
	a.expect(t, "1 of node 2 to 1/5/1")                        // so both stocks have arrived
	a.client.Stock(resource.Stock{Totals: four, Free: oneCPU}) // at once, and too soon to be told by itself
	q := wants(3, oneCPU)
	q.Home = true
	a.client.Want(5, 6, q)
	a.expect(t, "3 of node 2 to 1/5/6") // two to half, and then it is the emptier one
	q = wants(1, oneCPU)
	q.Strategy = strategy.Strategy{Kind: strategy.Affinity, Node: a.id}
	q.Home = true
	a.client.Want(5, 7, q)
	a.expect(t, "1 of node 1 to 1/5/7")
	a.client.Stock(all(four))
	q.Strategy, q.Near = strategy.Strategy{}, []place.Node{2}
	a.client.Want(5, 8, q)
	a.expect(t, "1 of node 2 to 1/5/8") // it has the arguments
}

// What breaks the rules ends the connection, at either end, and is named in the log.
func TestPlaced_RulesAreBroken_ConnectionEnds(t *testing.T) {
	w := newWorld(t, true)
	w.startHead(true)
	need := []map[string]int64{{"CPU": 1}}
	for name, say := range map[string]struct {
		t    wire.Type
		body any
	}{
		"a stock that cannot be":            {linkmsg.TStock, &linkmsg.Stock{Totals: map[string]int64{"CPU": -1}}},
		"a stock that is settled":           {linkmsg.TSettled, &linkmsg.Settled{Stock: &linkmsg.Stock{Free: map[string]int64{"CPU": 1}}}},
		"a stock that is text":              {linkmsg.TStock, "text"},
		"a want of fewer than none":         {linkmsg.TWant, &linkmsg.Want{N: -1, Needs: need}},
		"a want of too many":                {linkmsg.TWant, &linkmsg.Want{N: 1<<20 + 1, Needs: need}},
		"a want of which more are due":      {linkmsg.TWant, &linkmsg.Want{N: 1, Due: 2, Needs: need}},
		"a want without needs":              {linkmsg.TWant, &linkmsg.Want{N: 1}},
		"a want with too many choices":      {linkmsg.TWant, &linkmsg.Want{N: 1, Needs: slices.Repeat(need, linkmsg.MaxNeeds+1)}},
		"a want of a negative amount":       {linkmsg.TWant, &linkmsg.Want{N: 1, Needs: []map[string]int64{{"CPU": -1}}}},
		"a want with a very long name":      {linkmsg.TWant, &linkmsg.Want{N: 1, Needs: need, Name: strings.Repeat("x", 5000)}},
		"a want that is larger than a want": {linkmsg.TWant, &linkmsg.Want{N: 1, Needs: need, Name: strings.Repeat("x", linkmsg.MaxPlace)}},
		"what only the head says":           {linkmsg.TOffer, &linkmsg.Offer{N: 1, Node: 1}},
	} {
		p := w.stranger()
		h := hello()
		if err := p.Call(w.ctx, linkmsg.THello, encoded(t, &h), nil); err != nil {
			t.Fatal(err)
		}
		_ = p.Push(say.t, encoded(t, say.body))
		select {
		case <-p.Done():
		case <-w.ctx.Done():
			t.Fatalf("%s: the connection lives on", name)
		}
	}
	for name, o := range map[string]linkmsg.Offer{"of none": {Node: 1}, "of no node": {N: 1}, "in no choice": {N: 1, Node: 1, Choice: -1}, "of too many": {N: 1 << 30, Node: 1}} {
		c := headlink.NewClient(headlink.ClientOptions{Number: nodeNumber, ID: nodeID, Node: newPlayedNode(), Log: quiet()})
		here, there := net.Pipe()
		at := wire.NewPeer(there, func(m *wire.Message) {
			_ = m.Reply(encoded(t, &linkmsg.Welcome{Version: linkmsg.Version, MinVersion: linkmsg.MinVersion, Boot: [16]byte{1}, Orders: 1}))
			_ = m.Peer().Push(linkmsg.TOffer, encoded(t, &o))
		}, nil)
		at.Start()
		p := wire.NewPeer(here, func(m *wire.Message) { c.Handle(m) }, nil)
		c.Connected(p)
		p.Start()
		select {
		case <-p.Done():
		case <-w.ctx.Done():
			t.Fatalf("an offer %s: the connection lives on", name)
		}
		c.Close()
	}
}

// Work that only a lost node could run waits for another node to take its place.
func TestPlaced_NodeIsLost_NothingIsInfeasibleForAWhile(t *testing.T) {
	w, m := cluster(t, 1, 2, 3)
	a, b, c := m[0], m[1], m[2]
	a.client.Stock(all(oneCPU))
	b.client.Stock(all(oneB))
	c.client.Stock(all(oneB))
	w.joins(a)
	w.joins(b)
	w.server.Forget(2)
	a.client.Want(5, 6, wants(1, oneB))
	until(t, "the head has heard of the want", func() bool { return w.server.Sizes()["wants"] == 1 })
	w.joins(c)
	var list []string
	hears := func(n int) func() bool {
		return func() bool {
			more, _ := a.told()
			list = append(list, more...)
			return len(list) >= n
		}
	}
	until(t, "the want is offered the new node", hears(1))
	if len(list) != 1 || list[0] != "1 of node 3 to 1/5/6 choice 0" {
		t.Errorf("got %q", list)
	}
	w.head.NodeDied(b.id, "it was lost")
	w.head.NodeDied(c.id, "it was lost")
	w.server.Forget(3)
	a.client.Want(5, 7, wants(1, resource.Set{"c": resource.Unit}))
	until(t, "the head has heard of the other want", func() bool { return w.server.Sizes()["wants"] >= 1 })
	if more, _ := a.told(); len(more) > 0 {
		t.Errorf("right after another loss: %q", more)
	}
	until(t, "no node has come", func() bool {
		w.server.ReplacementLate()
		return hears(2)()
	})
	if !strings.HasPrefix(list[1], "infeasible 1/5/7: ") {
		t.Errorf("got %q", list)
	}
}
