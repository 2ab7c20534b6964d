package place

import (
	"maps"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/sim"
	"github.com/eagleray/eagleray/core/internal/strategy"
)

// world is a cluster: a head with the machine, and nodes whose daemons are played. Each node has a ledger of its own,
// which decides what is granted. Messages are late, those to the head come twice at times, connections are cut
// with what is on them, and nodes die.
type world struct {
	die *sim.Die
	log *sim.Log
	bug string // the planted bug, "" for none
	m   *Machine
	net *sim.Net[channel, any]
	now time.Duration

	nodes   map[Node]*played
	next    Node
	tickets map[Ticket]*underWay // that the machine has given out and that are not settled there
	used    map[Ticket]bool
	levels  map[Key]*told // what the head has heard

	offers, granted, refused, told int
	own                            int // granted of those whose own node it is
	recalled                       int // offers of leases to be recalled
	asks                           map[who]*asks
	servedAt                       map[Key]time.Duration // when a class was offered what is free

	actors               []*living
	lastActor            int
	actorTickets         map[Ticket]*living // those of tickets that are for actors
	runs                 map[ActorID]Node   // which node has begun to start an incarnation
	orders, moves, begun int
}

// channel is one direction between two nodes; 0 is the head.
type channel struct {
	from, to Node
	life     int // of the connection to the head
}

// played is one node.
type played struct {
	id      Node
	life    int // number of its connection
	up      bool
	quiet   bool // silent, although it is connected
	hosts   map[ids.Actor]*hosted
	ledger  *resource.Ledger
	devices bool
	dirty   bool // its stock was not reported as it is
	classes map[Key]*class
	local   []*resource.Allocation // of its own work
	leases  []*resource.Allocation // of offers
	stock   *resource.Stock        // the last one that the head has heard
}

// class is what a process of a node wants.
type class struct {
	job     ids.Job
	needs   []resource.Set
	level   int
	due     int
	offered uint64

	strategy strategy.Strategy
	home     bool
	near     []Node
}

// told is the last level of a class that the head has heard, and what it has offered since.
type told struct {
	n       int
	seen    uint64
	offered uint64 // as the head must count
}

type underWay struct {
	Offer
	need resource.Set
}

// The messages.
type (
	wantSaid struct {
		key Key
		Want
	}
	reportSaid  struct{ resource.Stock }
	settledSaid struct {
		ticket Ticket
		took   int
		stock  *resource.Stock
	}
	askSaid struct {
		key  Key
		need resource.Set
		Offer
	}
	refusedSaid struct {
		key Key
		n   int
	}
)

var simNeeds = []resource.Set{
	{"CPU": resource.Unit}, {"CPU": 2 * resource.Unit}, {"CPU": resource.Unit / 2, "b": resource.Unit}, {"b": 2 * resource.Unit},
	{"GPU": resource.Unit / 2}, {"GPU": resource.Unit, "CPU": resource.Unit}, {"CPU": 9 * resource.Unit}, {"memory": 3 * resource.Unit},
}

func newWorld(d *sim.Die, log *sim.Log, bug string) *world {
	w := &world{
		die: d, log: log, bug: bug, m: New(Options{}), net: sim.NewNet[channel, any](d),
		nodes: map[Node]*played{}, tickets: map[Ticket]*underWay{}, used: map[Ticket]bool{}, levels: map[Key]*told{},
		actorTickets: map[Ticket]*living{}, runs: map[ActorID]Node{}, asks: map[who]*asks{}, servedAt: map[Key]time.Duration{},
	}
	for range d.Between(2, 5) {
		w.addNode()
	}
	return w
}

func (w *world) addNode() {
	w.next++
	totals := resource.Set{"CPU": resource.FromInt(int64(w.die.Between(0, 6))), "b": resource.FromInt(int64(w.die.N(4))), "memory": resource.FromInt(8)}
	devices := map[string][]string{}
	if w.die.OneIn(3) {
		devices["GPU"] = []string{"0", "1"}[:w.die.Between(1, 2)]
	}
	l, err := resource.NewLedger(totals, devices)
	if err != nil {
		panic(err)
	}
	w.nodes[w.next] = &played{id: w.next, ledger: l, devices: len(devices) > 0, classes: map[Key]*class{}, hosts: map[ids.Actor]*hosted{}}
	w.log.Note("node %d has %s", w.next, l.Totals())
	w.connect(w.nodes[w.next])
}

// sorted returns the nodes in order.
func (w *world) sorted() (list []*played) {
	for _, id := range slices.Sorted(maps.Keys(w.nodes)) {
		list = append(list, w.nodes[id])
	}
	return list
}

func (n *played) keys() []Key {
	return slices.SortedFunc(maps.Keys(n.classes), func(a, b Key) int { return int(a.Class) - int(b.Class) })
}

// connect begins a connection to the head: the node says everything anew.
func (w *world) connect(n *played) {
	n.life++
	n.up, n.stock = true, nil
	w.unheard(n)
	w.log.Note("node %d connects", n.id)
	w.net.Unblock(channel{0, n.id, reliable})
	w.net.Unblock(channel{n.id, 0, reliable})
	w.m.NodeUp(n.id)
	w.m.Name(n.id, named(n.id))
	if !w.die.OneIn(4) { // else they are known later
		w.label(n)
	}
	w.allHeard()
	w.report(n)
	for _, k := range n.keys() {
		w.say(n, k)
	}
	w.obey()
}

// unheard forgets what the head has heard of a node's wants.
func (w *world) unheard(n *played) {
	for k := range w.levels {
		if k.Node == n.id {
			delete(w.levels, k)
		}
	}
}

// cut ends a connection. What is on it is lost.
func (w *world) cut(n *played) {
	n.up = false
	n.life++
	w.unheard(n)
	w.net.Block(channel{0, n.id, reliable})
	w.net.Block(channel{n.id, 0, reliable})
	w.log.Note("node %d is cut off", n.id)
	w.m.NodeSilent(n.id)
	w.obey()
}

// toHead sends something to the head, if there is a connection.
func (w *world) toHead(n *played, msg any) {
	if !n.up {
		return
	}
	c := channel{n.id, 0, n.life}
	w.net.Send(c, msg)
	if w.die.OneIn(8) {
		w.net.Send(c, msg)
	}
}

func (w *world) report(n *played) {
	n.dirty = false
	w.toHead(n, reportSaid{n.ledger.Stock()})
}

func (w *world) say(n *played, k Key) {
	c := n.classes[k]
	w.toHead(n, wantSaid{k, Want{Job: c.job, Name: "f", Needs: c.needs, N: c.level, Due: c.due, Offered: c.offered,
		Strategy: c.strategy, Home: c.home, Near: c.near}})
}

// level changes how many leases a class wants.
func (w *world) level(n *played, k Key, level int) {
	c := n.classes[k]
	c.level = max(level, 0)
	c.due = min(c.due, c.level)
	if len(c.needs) > 1 {
		c.due = w.die.N(c.level + 1)
	}
	w.log.Note("class %s wants %d, %d due, was offered %d", k, c.level, c.due, c.offered)
	w.say(n, k)
}

// Step implements sim.World.
func (w *world) Step() error {
	n := sim.Pick(w.die, w.sorted())
	switch w.die.N(29) {
	case 0, 1, 2:
		w.changeWant(n)
	case 3, 4:
		w.workHere(n)
	case 5, 6:
		w.endLease(n)
	case 7:
		w.now += w.die.Duration(300 * time.Millisecond)
		w.log.Note("the time is %v", w.now)
		w.m.Advance(w.now)
		w.expire()
		w.obey()
	case 8:
		if w.die.OneIn(4) {
			if n.up {
				w.cut(n)
			}
		} else if !n.up {
			w.connect(n)
		}
	case 9:
		if w.die.OneIn(12) && len(w.nodes) > 2 {
			w.dies(n)
		} else if w.die.OneIn(10) && len(w.nodes) < 6 {
			w.addNode()
		}
	case 10, 11:
		if n.dirty {
			w.report(n)
		}
	case 12:
		w.doubt(n, !n.quiet && w.die.OneIn(3))
	case 13:
		w.create()
	case 14:
		if len(w.actors) > 0 && w.die.OneIn(2) {
			w.end(sim.Pick(w.die, w.actors))
		}
	case 15:
		w.comesUp(n)
		w.label(n)
		w.obey()
	case 16:
		if w.die.OneIn(20) {
			w.anew()
		}
	default:
		w.deliver()
	}
	return w.check()
}

func (w *world) changeWant(n *played) {
	if len(n.classes) == 0 || len(n.classes) < 4 && w.die.OneIn(3) {
		k := Key{n.id, uint64(w.die.Between(1, 2)), uint32(len(n.classes) + 1)}
		c := &class{job: ids.JobOf(uint32(w.die.Between(1, 2))), needs: []resource.Set{sim.Pick(w.die, simNeeds)}}
		if w.die.OneIn(3) {
			c.needs = append(c.needs, sim.Pick(w.die, simNeeds))
		}
		w.chooses(c)
		n.classes[k] = c
	}
	w.level(n, sim.Pick(w.die, n.keys()), w.die.N(5))
}

// workHere begins or ends work of the node's own.
func (w *world) workHere(n *played) {
	if i := len(n.local); i > 0 && w.die.OneIn(2) {
		n.ledger.Release(n.local[i-1])
		n.local, n.dirty = n.local[:i-1], true
		w.starts(n)
	} else if a, ok := n.ledger.Acquire(sim.Pick(w.die, simNeeds)); ok {
		n.local, n.dirty = append(n.local, a), true
	}
	w.log.Note("node %d has %s free", n.id, n.ledger.Free())
}

func (w *world) endLease(n *played) {
	if i := len(n.leases); i > 0 {
		n.ledger.Release(n.leases[i-1])
		n.leases, n.dirty = n.leases[:i-1], true
		w.log.Note("node %d has a lease back, %s free", n.id, n.ledger.Free())
		w.starts(n)
	}
}

// dies ends a node. The processes that were its guests want their leases anew.
func (w *world) dies(n *played) {
	w.log.Note("node %d dies", n.id)
	delete(w.nodes, n.id)
	for id, t := range w.tickets {
		if t.Node == n.id {
			delete(w.tickets, id)
		}
	}
	w.unheard(n)
	w.m.NodeGone(n.id)
	w.allHeard()
	w.obey()
	w.restart(n.id)
	w.obey()
}

// doubt has the head hear nothing of a node for a while, or hear it again.
func (w *world) doubt(n *played, quiet bool) {
	if n.quiet == quiet || w.m.nodes[n.id] == nil { // one that this head has never heard gets nothing anyway
		return
	}
	n.quiet = quiet
	w.log.Note("node %d is silent: %v", n.id, quiet)
	if w.bug != "silence is not known" {
		w.m.Suspect(n.id, quiet)
	}
	w.obey()
}

// expire forgets the tickets that the machine has let expire. That they do so in time is checked at the end.
func (w *world) expire() {
	for id := range w.tickets {
		if w.m.tickets[id] == nil {
			delete(w.tickets, id)
		}
	}
}
