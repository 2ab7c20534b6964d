package sched

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/strategy"
)

// member is a world whose node has others beside it. It plays the head, which hears what overflows and offers
// leases of other nodes, and guests from there.
type member struct {
	*world
	heads   map[classOf]*heard
	guests  map[classOf]*asked
	visits  []ClientID
	tickets map[uint64]int // how many leases are asked for with a ticket that is not settled
	ticket  uint64

	offers, unused, refusals, settled, failed int

	patient int             // how often a guest was seen to wait for leases that were recalled
	allowed map[classOf]int // reservations that the head has let be made here, and that were not granted
	own     int             // leases that the head has let this node give
}

// classOf names a class of a client.
type classOf struct {
	client ClientID
	class  ClassID
}

// heard is what the head knows of a class.
type heard struct {
	n       int
	offered uint64
	home    bool
}

// asked is what a guest has asked for.
type asked struct {
	want    int // and has no answer to
	answers uint64
}

func newMember(t *testing.T, seed uint64) *member {
	w := newWorld(t, seed)
	o := w.m.o
	o.Cluster, o.Node, o.Number = true, thisNode, 1
	w.m, w.r = New(o), rand.New(rand.NewPCG(seed, 5))
	p := &member{world: w, heads: map[classOf]*heard{}, guests: map[classOf]*asked{}, tickets: map[uint64]int{}, allowed: map[classOf]int{}}
	w.elsewhere, w.strategies = p.hear, p.chooses
	return p
}

// TestMachine_RandomEventsInACluster_KeepsInvariants plays the events of any node, with offers and guests among them.
func TestMachine_RandomEventsInACluster_KeepsInvariants(t *testing.T) {
	offers, unused, refusals, settled, failed, own, patient := 0, 0, 0, 0, 0, 0, 0
	for seed := range uint64(100) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			p := newMember(t, seed)
			for range 500 {
				p.play()
			}
			offers, unused, refusals, settled, failed = offers+p.offers, unused+p.unused, refusals+p.refusals, settled+p.settled, failed+p.failed
			own, patient = own+p.own, patient+p.patient
			p.leave()
		})
	}
	if offers < 500 || unused < 100 || refusals < 100 || settled < 1000 || failed < 20 || own < 50 || patient < 50 {
		t.Errorf("of %d offers %d were not used; %d leases were refused to guests, with %d tickets, and they waited %d times; %d classes failed; %d leases here were the head's choice",
			offers, unused, refusals, settled, patient, failed, own)
	}
}

// play does one event.
func (p *member) play() {
	switch n := p.r.IntN(20); {
	case n == 0 && len(p.visits) < 3:
		p.visit()
	case n == 1 && len(p.visits) > 1:
		p.part(p.visits[0])
	case n < 7 && len(p.visits) > 0:
		p.ask()
	case n < 11:
		p.offer()
	case n == 12:
		p.m.SetCompany(p.r.IntN(4) > 0)
	case n == 13:
		p.offerHere()
	case n == 14 && len(p.clients) > 0:
		p.m.UpdateWant(pick(p.r, p.clients), ClassID(p.r.IntN(3)), WantUpdate{N: p.r.IntN(4), Near: []uint32{1, 2, 3}[p.r.IntN(4):]})
	case n == 11:
		if k, ok := anyOf(p, p.heads, func(h *heard) bool { return h.n > 0 }); ok {
			p.m.Infeasible(k.client, k.class, "no node has that", false)
		}
	default:
		p.step()
	}
	p.obey()
	p.check()
	p.compare()
}

// visit lets a process of another node come.
func (p *member) visit() {
	p.nextClient++
	id := p.nextClient
	p.m.AddGuest(id, ids.JobOf(uint32(4+p.r.IntN(2))))
	for c := range ClassID(2) {
		p.m.DefineClass(id, p.class(c))
		p.guests[classOf{id, c}] = &asked{}
	}
	p.visits = append(p.visits, id)
}

// part lets a guest leave.
func (p *member) part(id ClientID) {
	p.m.RemoveClient(id)
	p.obey()
	maps.DeleteFunc(p.leases, func(_ LeaseID, g Grant) bool { return g.Client == id })
	maps.DeleteFunc(p.guests, func(k classOf, _ *asked) bool { return k.client == id })
	p.visits = slices.DeleteFunc(p.visits, func(o ClientID) bool { return o == id })
}

// anyOf picks one of the classes of which something is true.
func anyOf[V any](p *member, m map[classOf]V, ok func(V) bool) (k classOf, found bool) {
	var all []classOf
	for k, v := range m {
		if ok(v) {
			all = append(all, k)
		}
	}
	if len(all) == 0 {
		return k, false
	}
	slices.SortFunc(all, func(a, b classOf) int { return int(a.client)*10 + int(a.class) - int(b.client)*10 - int(b.class) })
	return pick(p.r, all), true
}

// ask lets a guest want more with a ticket, or less, or more without a ticket.
func (p *member) ask() {
	k, _ := anyOf(p, p.guests, func(*asked) bool { return true })
	a := p.guests[k]
	u := WantUpdate{Seen: a.answers + 1}
	switch p.r.IntN(4) {
	case 0:
		a.want = p.r.IntN(a.want + 1)
	case 1:
		a.want += 1 + p.r.IntN(2)
	default:
		more := 1 + p.r.IntN(3)
		p.ticket++
		p.tickets[p.ticket] = more
		a.want += more
		u.Ticket, u.Recall = p.ticket, p.r.IntN(3) == 0
	}
	u.N, u.Due = a.want, p.r.IntN(a.want+1)
	p.m.UpdateWant(k.client, k.class, u)
	p.obey()
	if len(p.tickets) > 0 {
		p.t.Fatalf("the tickets %v are not settled at once", p.tickets)
	}
}

// offer lets the head offer leases for what it has heard of, perhaps one more than are still wanted.
func (p *member) offer() {
	k, ok := anyOf(p, p.heads, func(h *heard) bool { return h.n > 0 })
	if !ok {
		return
	}
	h := p.heads[k]
	n := 1 + p.r.IntN(h.n+1)
	h.offered += uint64(n)
	wanted := h.n
	h.n = max(0, h.n-n)
	take := p.m.Offered(k.client, k.class, n)
	if take != min(n, wanted) {
		p.t.Fatalf("of %d leases that are offered %d are taken, and %d were wanted", n, take, wanted)
	}
	p.offers++
	if take < n {
		p.unused++
	}
}

// hear takes the actions that concern other nodes.
func (p *member) hear(a Action) bool {
	switch a := a.(type) {
	case Overflow:
		h := p.heads[classOf{a.Client, a.Class}]
		if h == nil {
			h = &heard{}
			p.heads[classOf{a.Client, a.Class}] = h
		}
		if a.Offered != h.offered || a.Due > a.N || p.guests[classOf{a.Client, a.Class}] != nil {
			p.t.Fatalf("%s: %d were offered", a, h.offered)
		}
		if h.n, h.home = a.N, a.Home; a.Home && (a.Strategy.Kind == strategy.Affinity && !a.Strategy.Soft || a.N == 0) {
			p.t.Fatalf("%s: it must not be here, or is none", a)
		}
	case Refused:
		p.answer(classOf{a.Client, a.Class}, a.N)
		p.refusals += a.N
	case Settled:
		if n, open := p.tickets[a.Ticket]; !open || a.Took > n {
			p.t.Fatalf("%s: it was used up, or is for %d", a, n)
		}
		delete(p.tickets, a.Ticket)
		p.settled++
	case ClassFailed:
		p.failed++
		if g := p.guests[classOf{a.Client, a.Class}]; g != nil {
			g.want = 0
		}
	case Grant:
		k := classOf{a.Client, a.Class}
		if c := p.m.clients[k.client]; c != nil && p.m.namesOther(c.classes[k.class]) && !c.guest {
			if p.allowed[k]--; p.allowed[k] < 0 {
				p.t.Fatalf("%s: its class names another node", a)
			}
		}
		if p.guests[classOf{a.Client, a.Class}] != nil {
			p.answer(classOf{a.Client, a.Class}, 1)
		}
		return false
	default:
		return false
	}
	return true
}

// answer counts an answer to a guest, as the guest does.
func (p *member) answer(k classOf, n int) {
	a := p.guests[k]
	a.answers += uint64(n)
	a.want = max(0, a.want-n)
}

// compare compares what the head and the guests know with the machine.
func (p *member) compare() {
	for _, d := range p.m.waiting {
		if d.client.guest {
			if d.stays == 0 || p.m.now >= d.stays {
				p.t.Fatalf("%v of a guest waits", d.class)
			}
			p.patient++
		}
	}
	for k, a := range p.guests {
		if d := p.m.clients[k.client].classes[k.class]; d.want != a.want || d.due > d.want {
			p.t.Fatalf("guest %v waits for %d answers, the machine owes it %d, of which %d are due", k, a.want, d.want, d.due)
		}
	}
	wanted := map[classOf]int{}
	for _, c := range p.m.clients {
		for id, d := range c.classes {
			late := p.m.now >= d.since+OverflowAfter && !p.m.namesThis(d)
			if d.waits && !c.guest && (late || p.m.headDecides(d) || !slices.ContainsFunc(d.choices, func(c Choice) bool { _, ok := p.m.ledger.CanEver(c.Need); return ok })) {
				wanted[classOf{c.id, id}] = d.outstanding()
			}
		}
	}
	for k, h := range p.heads {
		if h.n != wanted[k] {
			p.t.Fatalf("the head knows of %d of class %v, and %d overflow", h.n, k, wanted[k])
		}
		delete(wanted, k)
	}
	if len(wanted) > 0 {
		p.t.Fatalf("the head has not heard of %v", wanted)
	}
}

// leave ends everything. Then the head must know of nothing.
func (p *member) leave() {
	for len(p.visits) > 0 {
		p.part(p.visits[0])
	}
	p.m.RemoveJob(ids.JobOf(4))
	p.m.RemoveJob(ids.JobOf(5))
	p.obey()
	p.drain()
	for _, a := range p.m.Actions() {
		if o, ok := a.(Overflow); ok {
			p.hear(o)
		}
	}
	p.compare()
	if len(p.m.overflowing) > 0 {
		p.t.Fatal("something overflows at the end")
	}
}
