package place

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/sim"
	"github.com/eagleray/eagleray/core/internal/strategy"
)

// Actors in the world. The head commits on which node an incarnation starts before that node hears of it. Orders to nodes and
// their reports are numbered, so a connection that is cut delays them and loses none; that a node has begun to start an incarnation it says with its
// stock, and that may be lost.

// living is an actor as the head's state has it.
type living struct {
	Actor
	at      Node // the committed node of the incarnation, 0: none
	started bool
	over    bool
	told    bool // that it is infeasible
	again   bool // another head is about to repeat the order
}

// hosted is an incarnation at a node.
type hosted struct {
	a      Actor
	ticket Ticket
	holds  *resource.Allocation // nil: it waits
	said   bool                 // that it has started
}

// The messages that are never lost.
type (
	startOrder struct {
		a      Actor
		ticket Ticket
	}
	withdrawOrder struct {
		id     ActorID
		ticket Ticket
	}
	stopOrder   struct{ id ActorID }
	refusedWord struct{ withdrawOrder }
	startedWord struct{ id ActorID }
)

// reliable is the life of the channels for what is never lost.
const reliable = -1

// create has the head know a new actor.
func (w *world) create() {
	n := sim.Pick(w.die, w.sorted())
	w.lastActor++
	a := &living{Actor: Actor{ID: ActorID{ids.Actor{byte(w.lastActor), byte(w.lastActor >> 8)}, 1}, Home: n.id, Name: "A", Needs: []resource.Set{sim.Pick(w.die, simNeeds)}, Wait: w.die.OneIn(4)}}
	if w.die.OneIn(3) {
		a.Needs = append(a.Needs, sim.Pick(w.die, simNeeds))
		if w.die.OneIn(2) {
			a.After = w.die.Duration(time.Second) + 1
		}
	}
	c := class{}
	w.chooses(&c)
	a.Strategy = c.strategy
	w.actors = append(w.actors, a)
	w.log.Note("%s needs %v, %+v", a.ID, a.Needs, a.Strategy)
	w.m.PlaceActor(a.Actor)
	w.obey()
}

// end ends an actor: its job ends, or its process.
func (w *world) end(a *living) {
	if a.over {
		return
	}
	w.log.Note("%s is over", a.ID)
	a.over = true
	w.m.ActorGone(a.ID)
	if n := w.nodes[a.at]; n != nil {
		w.net.Send(channel{0, n.id, reliable}, stopOrder{a.ID})
	}
	w.obey()
}

func (w *world) actor(id ActorID) *living {
	for _, a := range w.actors {
		if a.ID.Actor == id.Actor {
			return a
		}
	}
	panic("no " + id.String())
}

// restart places the next incarnations of actors whose node is dead.
func (w *world) restart(dead Node) {
	for _, a := range w.actors {
		if a.at == dead && !a.over {
			a.ID.Incarnation++
			a.at, a.started, a.told = 0, false, false
			w.log.Note("%s is placed anew", a.ID)
			w.m.PlaceActor(a.Actor)
		}
	}
}

// anew begins another process of the head. It knows what was committed. All connections end, and orders that had not arrived are lost.
func (w *world) anew() {
	w.log.Note("the head begins anew")
	last := Ticket(0)
	for id := range w.used {
		last = max(last, id)
	}
	w.m = New(Options{FirstTicket: last + 1})
	w.m.Advance(w.now)
	clear(w.tickets)
	clear(w.actorTickets)
	clear(w.levels)
	clear(w.asks)
	clear(w.servedAt)
	for _, n := range w.sorted() {
		n.up, n.quiet = false, false
		n.life++
		w.net.LoseAll(channel{0, n.id, reliable})
		w.net.Block(channel{0, n.id, reliable})
		w.net.Block(channel{n.id, 0, reliable})
	}
	w.m.Await(true)
	for _, a := range w.actors {
		if n := w.nodes[a.at]; a.over && n != nil {
			w.net.Send(channel{0, n.id, reliable}, stopOrder{a.ID})
		}
		if a.told = false; !a.over && !a.started {
			q := a.Actor
			q.At, a.again = a.at, a.at != 0
			w.m.PlaceActor(q)
		}
	}
	w.obey()
}

// allHeard has the machine know whether it has heard all nodes that are alive.
func (w *world) allHeard() {
	w.m.Await(slices.ContainsFunc(w.sorted(), func(n *played) bool { return w.m.nodes[n.id] == nil }))
}

// ordered checks an order to start an actor, commits it and sends it.
func (w *world) ordered(o StartActor) {
	a, n := w.actor(o.ID), w.nodes[o.Node]
	switch {
	case a.ID != o.ID || a.over || a.started:
		panic(fmt.Sprintf("%s: it is %s, over %v, started %v", o, a.ID, a.over, a.started))
	case a.again && a.at == o.Node && !w.used[o.Ticket]: // the head before may have told the node
		a.again = false
		w.used[o.Ticket] = true
		w.net.Send(channel{0, n.id, reliable}, startOrder{a.Actor, o.Ticket})
		return
	case n == nil || !n.up || n.stock == nil || n.quiet:
		panic(fmt.Sprintf("%s: the node is gone, silent or unknown", o))
	case a.at != 0:
		panic(fmt.Sprintf("%s: node %d was told to, and has not refused", o, a.at))
	case w.used[o.Ticket]:
		panic(fmt.Sprintf("%s: the ticket was used before", o))
	case a.told:
		panic(fmt.Sprintf("%s: it is called infeasible", o))
	case !slices.ContainsFunc(a.Needs, func(need resource.Set) bool { return w.mayStart(a, n, need) }):
		panic(fmt.Sprintf("%s: its strategy is %+v", o, a.Strategy))
	}
	w.used[o.Ticket] = true
	a.at = o.Node
	if w.actorTickets[o.Ticket] == nil { // else since it was withdrawn elsewhere
		w.debited(o.Ticket, a)
	}
	w.orders++
	w.net.Send(channel{0, n.id, reliable}, startOrder{a.Actor, o.Ticket})
}

// prune forgets what the machine debits no more for actors.
func (w *world) prune() {
	for id := range w.actorTickets {
		if w.m.tickets[id] == nil {
			delete(w.actorTickets, id)
			delete(w.tickets, id)
		}
	}
}

// debited notes what the machine has taken out of a node for an actor, and checks that the node has room.
func (w *world) debited(id Ticket, a *living) {
	t := w.m.tickets[id]
	if t == nil { // it waits there
		return
	}
	under := &underWay{Offer{Node: t.node.id, N: 1, Ticket: id}, a.Needs[t.choice]}
	w.fits(w.nodes[t.node.id], under)
	w.tickets[id], w.actorTickets[id] = under, a
	if w.bug == "the debit of an actor is lost" {
		t.undebit()
	}
}

// withdrawn checks that an actor is withdrawn for another node with room.
func (w *world) withdrawn(o WithdrawActor) {
	a := w.actor(o.ID)
	if a.ID != o.ID || a.at != o.Node {
		panic(fmt.Sprintf("%s: it is %s at node %d", o, a.ID, a.at))
	}
	w.moves++
	next := w.m.actors[o.ID].next
	if next.node.id == o.Node {
		panic(fmt.Sprintf("%s: to the same node", o))
	}
	w.debited(next.id, a)
	w.net.Send(channel{0, o.Node, reliable}, withdrawOrder{o.ID, o.Ticket})
	if w.bug == "a withdrawn actor goes on at once" {
		a.at = 0
		w.m.ActorRefused(o.Node, o.ID, o.Ticket)
		w.obey()
	}
}

// mayStart reports whether a strategy allows an actor to wait or start on a node with a need.
func (w *world) mayStart(a *living, n *played, need resource.Set) bool {
	if _, could := n.ledger.CanEver(need); !could {
		return false
	}
	return w.may(&class{strategy: a.Strategy, home: true}, n, n, need)
}

// orderAt brings what is never lost to a node.
func (w *world) orderAt(n *played, msg any) {
	switch msg := msg.(type) {
	case startOrder:
		if there := n.hosts[msg.a.ID.Actor]; there != nil && there.a.ID.Incarnation >= msg.a.ID.Incarnation {
			if there.ticket >= msg.ticket {
				panic(fmt.Sprintf("%s is told to node %d twice", msg.a.ID, n.id))
			}
			if there.ticket = msg.ticket; there.holds != nil {
				w.taken(n, there)
			}
			return
		}
		n.hosts[msg.a.ID.Actor] = &hosted{a: msg.a, ticket: msg.ticket}
		w.starts(n)
	case withdrawOrder:
		h := n.hosts[msg.id.Actor]
		switch {
		case h == nil || h.a.ID != msg.id || h.ticket != msg.ticket:
		case h.holds == nil:
			w.log.Note("node %d gives %s back", n.id, msg.id)
			delete(n.hosts, msg.id.Actor)
			w.report(n)
			w.net.Send(channel{n.id, 0, reliable}, refusedWord{msg})
		default:
			w.taken(n, h)
		}
	case stopOrder:
		if h := n.hosts[msg.id.Actor]; h != nil && h.a.ID == msg.id {
			w.leaves(n, h)
		}
	}
}

// leaves ends an incarnation at its node.
func (w *world) leaves(n *played, h *hosted) {
	delete(n.hosts, h.a.ID.Actor)
	if h.holds != nil {
		n.ledger.Release(h.holds)
		n.dirty = true
	}
	w.log.Note("%s leaves node %d", h.a.ID, n.id)
	w.starts(n)
}

// starts has a node begin to start actors for which there is room, in the order of their tickets.
func (w *world) starts(n *played) {
	hosts := slices.SortedFunc(maps.Values(n.hosts), func(a, b *hosted) int { return int(a.ticket) - int(b.ticket) })
	for _, h := range hosts {
		if h.holds != nil {
			continue
		}
		for _, need := range h.a.Needs {
			if h.holds, _ = n.ledger.Acquire(need); h.holds != nil {
				break
			}
			h.holds = nil
		}
		if h.holds == nil {
			continue
		}
		if other := w.runs[h.a.ID]; other != 0 {
			panic(fmt.Sprintf("%s starts on node %d and on node %d", h.a.ID, other, n.id))
		}
		w.runs[h.a.ID] = n.id
		w.begun++
		w.taken(n, h)
	}
}

// taken says that a node has what an incarnation needs.
func (w *world) taken(n *played, h *hosted) {
	w.log.Note("node %d begins to start %s and has %s free", n.id, h.a.ID, n.ledger.Free())
	stock := n.ledger.Stock()
	n.dirty = !n.up
	w.toHead(n, settledSaid{h.ticket, 1, &stock})
}

// comesUp says that an incarnation has started.
func (w *world) comesUp(n *played) {
	for _, id := range slices.SortedFunc(maps.Keys(n.hosts), func(a, b ids.Actor) int { return slices.Compare(a[:], b[:]) }) {
		if h := n.hosts[id]; h.holds != nil && !h.said {
			h.said = true
			w.net.Send(channel{n.id, 0, reliable}, startedWord{h.a.ID})
			return
		}
	}
}

// wordAt takes at the head what a node says about an actor.
func (w *world) wordAt(n *played, msg any) {
	switch msg := msg.(type) {
	case refusedWord:
		if w.bug == "a refusal is lost" && w.die.OneIn(2) {
			return
		}
		if at, ticket := w.m.OrderedTo(msg.id); at == n.id && ticket == msg.ticket { // else the order was repeated with another ticket
			w.actor(msg.id).at = 0
		}
		w.log.Note("node %d has given %s back", n.id, msg.id)
		w.m.ActorRefused(n.id, msg.id, msg.ticket)
	case startedWord:
		if a := w.actor(msg.id); a.ID == msg.id {
			a.started = true
		}
		w.log.Note("%s has started on node %d", msg.id, n.id)
		w.m.ActorGone(msg.id)
	}
	w.obey()
}

// actorInfeasible checks that no node could take an actor that is called infeasible.
func (w *world) actorInfeasible(o ActorInfeasible) {
	a := w.actor(o.ID)
	must := a.Strategy.Kind == strategy.Affinity && !a.Strategy.Soft
	if a.told || a.Wait && !must || a.at != 0 {
		panic(fmt.Sprintf("%s: told %v, waits %v, at node %d", o, a.told, a.Wait, a.at))
	}
	a.told = true
	for _, n := range w.nodes {
		for _, need := range a.Needs {
			if _, could := n.ledger.CanEver(need); could && (!must || named(n.id) == a.Strategy.Node) && rankOf(a.Strategy, n) >= 0 {
				panic(fmt.Sprintf("%s: node %d could", o, n.id))
			}
		}
	}
}

// placed checks that no actor waits although it could start.
func (w *world) placed() error {
	for _, a := range w.actors {
		if a.over || a.started {
			continue
		}
		if n := w.nodes[a.at]; n != nil {
			switch h := n.hosts[a.ID.Actor]; {
			case h == nil:
				return fmt.Errorf("node %d was told to start %s, and does not have it", n.id, a.ID)
			case h.holds != nil:
				continue // it has not said yet that it is up
			}
		}
		could := false
		for _, n := range w.sorted() {
			for i, need := range a.Needs {
				if !w.mayStart(a, n, need) {
					continue
				}
				could = true
				if (i == 0 || a.After == 0) && n.id != a.at && n.ledger.Fits(need) {
					return fmt.Errorf("%s waits at node %d, and node %d has %s free", a.ID, a.at, n.id, n.ledger.Free())
				}
			}
		}
		must := a.Strategy.Kind == strategy.Affinity && !a.Strategy.Soft
		switch {
		case could && a.at == 0:
			return fmt.Errorf("%s is nowhere, and a node could take it", a.ID)
		case !could && a.at == 0 && !a.told && (!a.Wait || must):
			return fmt.Errorf("nobody was told that %s is infeasible", a.ID)
		}
	}
	return nil
}
