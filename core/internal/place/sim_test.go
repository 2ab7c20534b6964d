package place

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/sim"
	"github.com/eagleray/eagleray/core/internal/strategy"
)

// steps is how many events a seed has, before the faults end.
const steps = 300

func begin(d *sim.Die, log *sim.Log) sim.World { return newWorld(d, log, "") }

// Nodes offer what they have, whatever the network and death do.
func TestSim_Cluster(t *testing.T) { sim.Run(t, steps, begin) }

func TestSim_SameSeed_SameEvents(t *testing.T) { sim.Replays(t, steps, begin) }

// The world notices what it is for.
func TestSim_PlantedBug_IsFound(t *testing.T) {
	for _, bug := range []string{"the debit is lost", "offers that cross a level are forgotten", "a report is lost", "a strategy is lost", "labels are mixed up", "a ticket never expires",
		"silence is not known", "the debit of an actor is lost", "a withdrawn actor goes on at once", "a refusal is lost", "nodes are asked without a pause"} {
		t.Run(bug, func(t *testing.T) {
			sim.Find(t, steps, func(d *sim.Die, log *sim.Log) sim.World { return newWorld(d, log, bug) })
		})
	}
}

// In a world all that can happen does happen.
func TestSim_World_OffersAreGrantedRefusedAndInfeasible(t *testing.T) {
	var offers, granted, refused, told, own, recalled, orders, moves, begun int
	for seed := range uint64(120) {
		w := newWorld(sim.NewDie(seed+1), new(sim.Log), "")
		for range steps {
			if err := w.Step(); err != nil {
				t.Fatal(err)
			}
		}
		offers, granted, refused, told = offers+w.offers, granted+w.granted, refused+w.refused, told+w.told
		own, recalled = own+w.own, recalled+w.recalled
		orders, moves, begun = orders+w.orders, moves+w.moves, begun+w.begun
	}
	if begun < 100 || moves < 20 || orders < begun+20 {
		t.Errorf("actors were ordered %d times and withdrawn %d times; %d began to start", orders, moves, begun)
	}
	if granted < 50 || refused < 20 || told < 10 || own < 20 || recalled < 50 {
		t.Errorf("of %d offers %d were of leases to be recalled; %d leases were granted and %d refused; %d wants were infeasible; %d were of the process's own node", offers, recalled, granted, refused, told, own)
	}
}

// deliver brings one message to where it goes.
func (w *world) deliver() bool {
	c, msg, ok := w.net.Deliver()
	if !ok {
		return false
	}
	from, to := w.nodes[c.from], w.nodes[c.to]
	switch {
	case c.life == reliable:
		if c.to == 0 && from != nil {
			w.wordAt(from, msg)
		} else if to != nil {
			w.orderAt(to, msg)
		}
	case c.to == 0 && from != nil && from.up && from.life == c.life:
		w.atHead(from, msg)
	case c.from == 0 && to != nil && to.up && to.life == c.life:
		w.atHome(to, msg.(underWay))
	case c.from != 0 && c.to != 0 && to != nil:
		w.atNode(to, msg)
	case c.from != 0 && c.to != 0 && from != nil: // the node is dead that was asked
		if q, asked := msg.(askSaid); asked {
			w.level(from, q.key, from.classes[q.key].level+q.N)
		}
	}
	return true
}

// atHead takes a message of a node.
func (w *world) atHead(n *played, msg any) {
	var err error
	switch msg := msg.(type) {
	case wantSaid:
		l := w.levels[msg.key]
		if l == nil {
			l = &told{offered: msg.Offered}
			w.levels[msg.key] = l
		}
		l.n, l.seen, l.offered = msg.N, msg.Offered, max(l.offered, msg.Offered)
		if row := w.m.wants[msg.key]; row != nil && w.bug == "offers that cross a level are forgotten" {
			row.offered = msg.Offered
		}
		if w.bug == "a strategy is lost" {
			msg.Strategy = strategy.Strategy{}
		}
		err = w.m.Want(msg.key, msg.Want)
		if l.n == 0 && l.seen == l.offered {
			delete(w.levels, msg.key)
		}
	case reportSaid:
		if w.bug == "a report is lost" && w.die.OneIn(4) {
			return
		}
		n.stock = &msg.Stock
		err = w.m.Report(n.id, msg.Stock)
	case settledSaid:
		if t := w.tickets[msg.ticket]; t != nil && (t.Node == n.id || t.To.Node == n.id) {
			delete(w.tickets, msg.ticket)
		}
		if msg.stock != nil {
			n.stock = msg.stock
		}
		err = w.m.Settled(n.id, msg.ticket, msg.took, msg.stock)
	}
	if err != nil {
		panic(err)
	}
	w.obey()
}

// obey takes the machine's actions.
func (w *world) obey() {
	w.prune()
	if w.bug == "nodes are asked without a pause" {
		for _, t := range w.m.turns {
			t.recallAt = 0
		}
	}
	for _, a := range w.m.Actions() {
		w.log.Note("%s", a)
		switch a := a.(type) {
		case Offer:
			w.offers++
			w.offered(a)
		case Infeasible:
			w.told++
			w.isInfeasible(a)
		case StartActor:
			w.ordered(a)
		case WithdrawActor:
			w.withdrawn(a)
		case ActorInfeasible:
			w.actorInfeasible(a)
		case ActorFeasible:
			w.actor(a.ID).told = false
		}
	}
}

// offered checks an offer and sends it.
func (w *world) offered(a Offer) {
	n, home, l := w.nodes[a.Node], w.nodes[a.To.Node], w.levels[a.To]
	switch {
	case n == nil || !n.up || n.stock == nil || n.quiet:
		panic(fmt.Sprintf("%s: the node is gone, silent or unknown", a))
	case home == nil || !home.up:
		panic(fmt.Sprintf("%s: to whom?", a))
	case !w.may(home.classes[a.To], home, n, home.classes[a.To].needs[a.Choice]):
		panic(fmt.Sprintf("%s: class %+v may not run there", a, home.classes[a.To]))
	case w.used[a.Ticket]:
		panic(fmt.Sprintf("%s: the ticket was used before", a))
	case l == nil:
		panic(fmt.Sprintf("%s: nothing is wanted", a))
	}
	w.used[a.Ticket] = true
	if l.offered += uint64(a.N); l.offered-l.seen > uint64(l.n) {
		panic(fmt.Sprintf("%s: %d are wanted, and %d are offered since", a, l.n, l.offered-l.seen))
	}
	if a.Recall {
		w.recalls(a, home, n)
		return
	}
	w.isBest(a, home.classes[a.To], home, n)
	w.offeredTo(home.classes[a.To].job, a.To)
	t := &underWay{a, home.classes[a.To].needs[a.Choice]}
	w.fits(n, t)
	w.tickets[a.Ticket] = t
	if w.bug == "the debit is lost" {
		w.m.tickets[a.Ticket].undebit()
	}
	if w.bug == "a ticket never expires" {
		w.m.tickets[a.Ticket].ends += time.Hour
	}
	w.net.Send(channel{0, home.id, home.life}, *t)
}

// fits checks that a node has room for an offer, as far as the head has heard, beside all that is under way. What is under way may lie on
// the devices in another way than the machine has it. So the offer is wrong only if it fits neither by the sums nor device by device.
func (w *world) fits(n *played, t *underWay) {
	l, err := resource.Restore(*n.stock)
	if err != nil {
		panic(err)
	}
	free, before := l.Free(), l.Free()
	acquire := func(need resource.Set) bool { _, ok := l.Acquire(need); return ok }
	subtract := func(need resource.Set) bool {
		ok := need.Fits(free)
		if ok {
			free.Sub(need)
		}
		return ok
	}
	for _, id := range slices.Sorted(maps.Keys(w.tickets)) {
		o := w.tickets[id]
		for range o.N {
			if o.Node == n.id {
				acquire(o.need)
				subtract(o.need)
			}
		}
	}
	byDevices, bySums := true, true
	for range t.N {
		byDevices = acquire(t.need) && byDevices
		bySums = subtract(t.need) && bySums
	}
	if !byDevices && !bySums {
		panic(fmt.Sprintf("%s: it needs %s each of %s, and there is no room beside what is under way", t.Offer, t.need, before))
	}
}

// isInfeasible checks that no node could serve what is called infeasible, as far as the head has heard.
func (w *world) isInfeasible(a Infeasible) {
	c := w.nodes[a.To.Node].classes[a.To]
	for _, n := range w.nodes {
		for _, need := range c.needs {
			hard := c.strategy.Kind == strategy.Affinity && !c.strategy.Soft
			if _, ok := n.ledger.CanEver(need); ok && (!hard || named(n.id) == c.strategy.Node) && rankOf(c.strategy, n) >= 0 {
				panic(fmt.Sprintf("%s: node %d could", a, n.id))
			}
		}
	}
}

// atHome brings an offer to the process.
func (w *world) atHome(n *played, t underWay) {
	if t.Node == n.id {
		w.atOwn(n, t)
		return
	}
	c := n.classes[t.To]
	take := min(t.N, c.level)
	c.offered += uint64(t.N)
	c.level -= take
	c.due = min(c.due, c.level)
	if w.die.OneIn(9) { // nothing waits any more
		take = 0
	}
	if take == 0 {
		w.log.Note("ticket %d is not used", t.Ticket)
		w.toHead(n, settledSaid{ticket: t.Ticket})
	} else {
		t.N = take
		w.net.Send(channel{n.id, t.Node, 0}, askSaid{t.To, t.need, t.Offer})
	}
	w.say(n, t.To)
}

// atNode brings a message between two nodes.
func (w *world) atNode(n *played, msg any) {
	switch msg := msg.(type) {
	case askSaid:
		took := 0
		for range msg.N {
			if a, ok := n.ledger.Acquire(msg.need); ok {
				n.leases = append(n.leases, a)
				took++
			}
		}
		w.log.Note("node %d grants %d of ticket %d and has %s free", n.id, took, msg.Ticket, n.ledger.Free())
		w.granted, w.refused = w.granted+took, w.refused+msg.N-took
		stock := n.ledger.Stock()
		n.dirty = !n.up
		w.toHead(n, settledSaid{msg.Ticket, took, &stock})
		if took < msg.N {
			w.net.Send(channel{n.id, msg.key.Node, 0}, refusedSaid{msg.key, msg.N - took})
		}
	case refusedSaid:
		w.level(n, msg.key, n.classes[msg.key].level+msg.n)
	}
}

// check compares the machine with the world.
func (w *world) check() error {
	w.prune()
	if len(w.m.tickets) != len(w.tickets) {
		return fmt.Errorf("the machine has %d tickets, and %d are under way", len(w.m.tickets), len(w.tickets))
	}
	for k, l := range w.levels {
		level := less(l.n, l.offered-l.seen)
		if row := w.m.wants[k]; row == nil && level > 0 || row != nil && row.level != level {
			return fmt.Errorf("class %s: %d are wanted, and the machine has %+v", k, level, row)
		}
	}
	for k := range w.m.wants {
		if w.levels[k] == nil {
			return fmt.Errorf("class %s wants nothing and is in the table", k)
		}
	}
	return nil
}

// quiet lets everything arrive and all time pass that the machine wants to be told of.
func (w *world) quiet() error {
	recalls := 0
	for range 10000 {
		for w.deliver() {
			if err := w.check(); err != nil {
				return err
			}
		}
		again := false
		for _, n := range w.sorted() {
			if n.dirty {
				w.report(n)
				again = true
			}
		}
		if again {
			continue
		}
		at, ok := w.m.Next()
		if !ok {
			return nil
		}
		if at > w.now+max(TicketFor, recallPauseMost) {
			return fmt.Errorf("the machine wants to be told of %v at %v", at, w.now)
		}
		if at == w.m.recallAt {
			if recalls++; recalls == 50 { // what nobody gives back is asked for again and again
				return nil
			}
		}
		w.now = max(w.now, at)
		w.m.Advance(w.now)
		w.expire()
		w.obey()
	}
	return fmt.Errorf("there is no end of it")
}

// Finish implements sim.World: the faults end, and then every want is served that fits.
func (w *world) Finish() error {
	for _, n := range w.sorted() {
		w.doubt(n, false)
		if !n.up {
			w.connect(n)
		}
		w.label(n)
		w.obey()
	}
	for round := range 100 {
		if err := w.quiet(); err != nil {
			return err
		}
		if err := w.settled(); err != nil {
			return err
		}
		left := 0
		for _, n := range w.sorted() {
			left += len(n.leases) + len(n.local)
			for len(n.leases) > 0 {
				w.endLease(n)
			}
			for _, a := range n.local {
				n.ledger.Release(a)
				n.dirty = true
			}
			n.local = nil
			w.starts(n)
			for _, a := range w.actors {
				if h := n.hosts[a.ID.Actor]; h != nil && h.holds != nil {
					w.end(a)
					left++
				}
			}
		}
		if left == 0 && round > 0 {
			return w.empty()
		}
	}
	return fmt.Errorf("leases are granted without end")
}

// settled checks that nothing waits that has room, and that the machine knows what is free.
func (w *world) settled() error {
	if len(w.m.tickets) > 0 {
		return fmt.Errorf("%d tickets are left", len(w.m.tickets))
	}
	if err := w.placed(); err != nil {
		return err
	}
	for _, n := range w.sorted() {
		if got := w.m.nodes[n.id].ledger.Stock(); !got.Equal(n.ledger.Stock()) {
			return fmt.Errorf("node %d has %s free, the machine thinks %s", n.id, n.ledger.Free(), w.m.nodes[n.id].ledger.Free())
		}
		for _, k := range n.keys() {
			c := n.classes[k]
			for _, o := range w.sorted() {
				for i, need := range c.needs {
					if c.level > 0 && w.may(c, n, o, need) && (i == 0 || c.due > 0) && o.ledger.Fits(need) {
						return fmt.Errorf("class %s waits for %d, and node %d has %s free", k, c.level, o.id, o.ledger.Free())
					}
				}
			}
		}
	}
	return nil
}

// empty checks that nothing is left of wants that end.
func (w *world) empty() error {
	for _, n := range w.sorted() {
		for _, k := range n.keys() {
			w.level(n, k, 0)
		}
	}
	for _, a := range w.actors {
		w.end(a)
	}
	if err := w.quiet(); err != nil {
		return err
	}
	if s := w.m.Sizes(); s["actors"]+len(w.m.ordered)+len(w.m.homeless)+len(w.m.orders) > 0 {
		return fmt.Errorf("actors are left at the end: %v", s)
	}
	if s := w.m.Sizes(); s["wants"]+s["tickets"] > 0 || s["needs"] > keptNeeds || s["nodes"] != len(w.nodes) {
		return fmt.Errorf("left at the end: %v", s)
	}
	return nil
}
