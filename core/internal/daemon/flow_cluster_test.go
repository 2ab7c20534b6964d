package daemon_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/daemon"
	"github.com/eagleray/eagleray/core/internal/place"
	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// playedCluster is a head that writes down what a daemon says about leases.
type playedCluster struct {
	mu    sync.Mutex
	lines []string
	stock resource.Stock
	key   place.Key // of the last want
	want  place.Want
}

func (c *playedCluster) note(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, line)
}

func (c *playedCluster) Want(client uint64, class uint32, w place.Want) {
	c.note(fmt.Sprintf("class %d: %d after %d", class, w.N, w.Offered))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.key, c.want = place.Key{Client: client, Class: class}, w
}

func (c *playedCluster) Stock(s resource.Stock) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stock = s
}

func (c *playedCluster) Settled(ticket uint64, took int, s resource.Stock) {
	c.Stock(s)
	c.note(fmt.Sprintf("ticket %d: %d", ticket, took))
}

func (c *playedCluster) Unused(ticket uint64) { c.note(fmt.Sprintf("ticket %d is not used", ticket)) }

// expect waits until a line was said that was not expected before.
func (c *playedCluster) expect(t *testing.T, line string) {
	t.Helper()
	play.Eventually(t, fmt.Sprintf("the head hears %q", line), func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		i := slices.Index(c.lines, line)
		if i >= 0 {
			c.lines = slices.Delete(c.lines, i, i+1)
		}
		return i >= 0
	})
}

func (c *playedCluster) ActorRefused(i record.Instance, ticket uint64, _ resource.Stock) {
	c.note(fmt.Sprintf("actor %x#%d is refused, ticket %d", i.Actor[0], i.Incarnation, ticket))
}

// free waits until the head knows that so many CPUs are free.
func (c *playedCluster) free(t *testing.T, cpus int64) {
	t.Helper()
	play.Eventually(t, fmt.Sprintf("the head hears that %d CPUs are free", cpus), func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.stock.Totals != nil && c.stock.Free["CPU"] == resource.FromInt(cpus)
	})
}

func (c *playedCluster) wanted() place.Key {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.key
}

func (c *playedCluster) asked() place.Want {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.want
}

// What has no room overflows, offers reach the process that wants leases, and what is of no use is said.
func TestCluster_ClassHasNoRoom_OffersArePassedOn(t *testing.T) {
	c := new(playedCluster)
	s := play.StartWith(t, 1, func(o *daemon.Options) { o.Cluster = c })
	c.free(t, 1)
	d := s.Driver(nil)
	d.Class(1, map[string]float64{"b": 1}, "default")
	d.Want(1, 3)
	c.expect(t, "class 1: 3 after 0")
	key := c.wanted()
	s.D.LeaseOffered(place.Offer{To: key, Node: 9, N: 2, Choice: 0, Ticket: 70})
	var o wire.LeaseOffer
	d.Expect(wire.TLeaseOffer, &o)
	if e := o.Env; e == nil || e.Key != "default" || e.Python == "" {
		t.Errorf("the first offer brings the environment %+v", e)
	}
	if o.Env = nil; o != (wire.LeaseOffer{ClassID: 1, Node: 9, N: 2, Ticket: 70}) {
		t.Errorf("the offer is %+v", o)
	}
	s.D.LeaseOffered(place.Offer{To: key, Node: 9, N: 5, Choice: 0, Ticket: 71})
	d.Expect(wire.TLeaseOffer, &o)
	if o.Env != nil {
		t.Errorf("a later offer brings the environment again: %+v", o.Env)
	}
	if o.N != 1 || o.Ticket != 71 {
		t.Errorf("of five leases that are offered %d are passed on, and one is wanted", o.N)
	}
	c.expect(t, "class 1: 0 after 7")
	d.Push(wire.TLeaseRefused, wire.LeaseRefused{ClassID: 1, N: 1, Ticket: 71})
	c.expect(t, "ticket 71 is not used")
	s.D.LeaseOffered(place.Offer{To: key, Node: 9, N: 1, Ticket: 72})
	c.expect(t, "ticket 72 is not used")
	c.expect(t, "class 1: 0 after 8") // the head may forget the class
	d.Push(wire.TLeaseWant, wire.LeaseWant{ClassID: 1, Want: 1, Seen: 4})
	c.expect(t, "class 1: 1 after 8")
	s.D.WantInfeasible(place.Infeasible{To: key, Message: "no node has a b"})
	var x wire.ClassTrouble
	d.Expect(wire.TClassInfeasible, &x)
	if x.ClassID != 1 || x.Message != "no node has a b" || x.Code != string(fault.TaskUnschedulable) {
		t.Errorf("got %+v", x)
	}
	c.expect(t, "class 1: 0 after 8")
	d.Push(wire.TLeaseWant, wire.LeaseWant{ClassID: 1, Want: 1, Seen: 4})
	c.expect(t, "class 1: 1 after 8")
	d.Peer.Close()
	c.expect(t, "class 1: 0 after 8")
	s.D.LeaseOffered(place.Offer{To: key, Node: 9, N: 1, Ticket: 73})
	c.expect(t, "ticket 73 is not used")
}

// A guest gets what its ticket is for and what is free, and the head hears of it.
func TestCluster_GuestHasATicket_GetsWhatIsFree(t *testing.T) {
	c := new(playedCluster)
	var n play.Network
	a, _ := n.Join(t, nodeA, 1), n.JoinWith(t, nodeB, 2, func(o *daemon.Options) { o.Cluster = c })
	g := visits(a.Driver(nil), nil)
	g.Class(1, play.OneCPU, "default")
	g.Push(wire.TLeaseWant, wire.LeaseWant{ClassID: 1, Want: 3, Seen: 1, Ticket: 70})
	var r wire.LeaseRefused
	g.Expect(wire.TLeaseRefused, &r)
	if r.ClassID != 1 || r.N != 1 || r.Ticket != 70 {
		t.Errorf("got %+v", r)
	}
	c.expect(t, "ticket 70: 2")
	h, other := g.Lease(), g.Lease()
	c.free(t, 0)
	g.Push(wire.TLeaseWant, wire.LeaseWant{ClassID: 1, Want: 1, Seen: 4}) // without a ticket
	g.Expect(wire.TLeaseRefused, &r)
	if r.N != 1 || r.Ticket != 0 {
		t.Errorf("got %+v", r)
	}
	if h.Tell("pid") == other.Tell("pid") {
		t.Error("two leases of one worker")
	}
	h.GiveBack()
	c.free(t, 1)
	g.Peer.Close()
	c.free(t, 2)
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := strings.Join(c.lines, ", "); s != "" {
		t.Errorf("the head has heard more: %s", s)
	}
}
