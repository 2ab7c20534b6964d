package place

import (
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/strategy"
)

// This file has everything that the machine knows. The other files have the methods.

// Node is the number of a node.
type Node uint32

// Protocol is the version of what the processes of a node say to each other and to those of other nodes. Processes that have different ones do not talk to each
// other. 0 is for what any node may have.
type Protocol int

// Ticket numbers offers, from Options.FirstTicket.
type Ticket uint64

// Key names a scheduling class of one process.
type Key struct {
	Node   Node   // the process's own node
	Client uint64 // the process, as the daemon of that node numbers it
	Class  uint32 // the class, as the process numbers it
}

// Want is how many leases of a class a daemon has no room for.
type Want struct {
	Job     ids.Job
	Name    string         // of the function
	Needs   []resource.Set // what a lease needs, then the alternatives; at least one
	N       int            // how many leases; 0: none any more
	Due     int            // for how many of them an alternative may be taken
	Offered uint64         // how many leases of the class were offered so far, as the sender knows

	Strategy strategy.Strategy
	Home     bool   // leases of the sender's own node do, too: it leaves the choice to the head
	Near     []Node // nodes that hold large arguments, the best one first
}

// The machine's constants, for Options that leave them out.
const (
	TicketFor    = time.Second
	RefusedPause = 50 * time.Millisecond
	PackTo       = 0.5
)

// MaxWants is for how many classes one node may have no room at a time.
const MaxWants = 100_000

// Options configure a Machine.
type Options struct {
	TicketFor    time.Duration // how long an offer stays debited that nobody settles
	RefusedPause time.Duration // how long a node that has refused a need is not offered for it
	PackTo       float64       // up to which load a node is filled before the next one is used
	// FirstTicket numbers the first offer; 0: 1. A new process of the head must not use the tickets of the one before.
	FirstTicket Ticket
}

// Machine is the state. It is not safe for concurrent use.
type Machine struct {
	o       Options
	now     time.Duration
	actions []Action

	nodes    map[Node]*node
	named    map[ids.Node]*node // the same by their ids, of those that have one
	slots    []*node            // the same by their slots; nil where a node was
	labelled uint64             // changes with the labels of nodes, and with their slots
	unheard  int                // nodes that have never reported
	waits    bool               // see Await
	shape    uint64             // changes with what nodes have in all
	judged   uint64             // the shape for which all wants were judged
	judgeAll bool               // all have to be judged anyway
	dead     map[ids.Node]bool  // see Died
	deadAt   map[Node]bool      // the same by their numbers
	deaths   []death            // the same, the oldest first
	doomed   []*want            // those that must run on one of them and were not judged
	doomedA  []*actor           // the same of actors
	unjudged []*want            // those that have begun to wait since

	wants  map[Key]*want
	needs  map[needKey]*need
	list   []*need // the same in order of creation
	unused []*need // those that nobody wants, longest first
	turns  map[who]*turn

	turn       uint64
	sequence   uint64
	round      uint64
	nextTicket Ticket
	tickets    map[Ticket]*ticket
	expiring   []*ticket // in order; settled ones are still among them for a while
	pauses     []pause   // in order
	fresh      []*ticket // of the decision that is being made

	// Actors that no node has begun to start.
	actors        map[ActorID]*actor
	ordered       []*actor                // those that a node was told to start, in that order
	orders        map[Ticket]*actor       // the same by their tickets
	homeless      []*actor                // the others, in order
	judgeActors   bool                    // some of them were not judged
	groups        map[ids.Group]*group    // that need nodes
	waitingGroups []*group                // those of which no node was asked, the oldest first
	judgeGroups   bool                    // some of them were not judged
	groupTurn     uint64                  // the order of the last one that was looked at, when there were many
	groupsLeft    int                     // how many of them were not looked at since some node may have more room
	groupsAt      time.Duration           // when these are looked at; 0: never
	groupRecallAt time.Duration           // when some group's recallAt may have come; 0: never
	spread        map[string]map[Node]int // of SPREAD: how many actors of a class each node got, by the class's name
	grew          bool                    // some node may have more room than when actors were decided last
	lookAt        time.Duration           // when actors are to be decided although nothing happens; 0: never
	recallAt      time.Duration           // when some want's recallAt may have come; 0: never
	busyAt        time.Duration           // when some want's patience may end; 0: never
}

// node is one node of the cluster. Its row stays while it is silent.
type node struct {
	id        Node
	name      ids.Node          // see Name; zero before
	speaks    Protocol          // see Speaks; 0 before
	labels    map[string]string // see Label; nil before
	slot      int
	up        bool // it is connected
	reported  bool // and has reported on that connection
	suspected bool // see Suspect
	drains    bool // see Drain

	ledger  *resource.Ledger // as reported, less what is debited; nil before the first report
	totals  resource.Set
	devices bool
	load    float64
	tickets []*ticket // debited, in order
	short   bool      // the ledger has less than they offer
	paused  map[*need]time.Duration
	wants   int // classes of its processes in the table
	actors  int // that it was told to start, and has not begun to
}

// takes reports whether the node may be offered at all.
func (n *node) takes() bool { return n.up && n.reported && !n.suspected && !n.drains }

// death is a node that has died.
type death struct {
	id     ids.Node
	number Node
}

// need is what leases need, with the nodes that may have it free.
type need struct {
	key  needKey
	set  resource.Set
	uses int     // wants that name it
	open []*node // may have room; all others of those that take offers have none
	in   []bool  // by slot: it is in open
	wait []*want // wants with a level above 0, in order of since

	// Whether a node could have it if all were free. It is known while shape is the machine's.
	possible bool
	shape    uint64
}

// want is what is wanted of one class.
type want struct {
	key         Key
	name        string
	needs       []*need
	job, client *turn
	served      uint64
	level       int // how many leases are still wanted
	due         int // for how many of them an alternative may be taken
	offered     uint64
	since       uint64 // when it began to wait
	told        bool   // that it is infeasible
	stuck       uint64 // the round of decisions in which no node was found for it

	strategy strategy.Strategy
	ranks    *ranks // nil: labels do not matter
	home     bool
	near     []Node
	given    map[Node]int // of SPREAD: how many leases of each node were offered, less those that were refused

	waits   time.Duration // since when it waits, or since it got a lease
	patient time.Duration // of one that spills or fails: since when it waits for the node that it names, or since it got a lease there
}

// who takes turns: a job, or with client a process of it.
type who struct {
	job    ids.Job
	node   Node
	client uint64
}

// turn is when somebody was served last.
type turn struct {
	who    who
	served uint64
	uses   int // wants that name it

	// Of a process:
	recallAt time.Duration // not before this nodes are asked to recall leases for its wants
	recalls  int           // how often they were, since it got a lease
}

// ticket is an offer that is not settled.
type ticket struct {
	id     Ticket
	to     Key
	actor  *actor         // for which it is; nil: it is an offer, or for a group
	group  *group         // for whose bundles it is
	sets   []resource.Set // what these need, one allocation each
	node   *node
	need   *need
	choice int
	n      int
	holds  []*resource.Allocation // of the node's ledger; fewer than n if the node has reported less since
	ends   time.Duration
	closed bool
}

// pause is when a node may be offered for a need again.
type pause struct {
	node *node
	need *need
	ends time.Duration
}

// New returns an empty machine at time 0.
func New(o Options) *Machine {
	if o.TicketFor <= 0 {
		o.TicketFor = TicketFor
	}
	if o.RefusedPause <= 0 {
		o.RefusedPause = RefusedPause
	}
	if o.PackTo <= 0 {
		o.PackTo = PackTo
	}
	return &Machine{
		o: o, nextTicket: max(o.FirstTicket, 1),
		nodes: make(map[Node]*node), named: make(map[ids.Node]*node), dead: make(map[ids.Node]bool), deadAt: make(map[Node]bool), spread: make(map[string]map[Node]int), wants: make(map[Key]*want), needs: make(map[needKey]*need),
		turns: make(map[who]*turn), tickets: make(map[Ticket]*ticket),
		actors: make(map[ActorID]*actor), orders: make(map[Ticket]*actor), groups: make(map[ids.Group]*group),
	}
}

// Actions returns what is to be sent since the last call.
func (m *Machine) Actions() []Action {
	a := m.actions
	m.actions = nil
	return a
}

func (m *Machine) emit(a Action) { m.actions = append(m.actions, a) }

// Sizes are how many entries the tables have, by name.
func (m *Machine) Sizes() map[string]int {
	return map[string]int{"nodes": len(m.nodes), "wants": len(m.wants), "needs": len(m.needs), "tickets": len(m.tickets), "turns": len(m.turns), "actors": len(m.actors), "groups": len(m.groups)}
}
