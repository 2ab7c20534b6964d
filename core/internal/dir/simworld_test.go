package dir

import (
	"fmt"
	"slices"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/sim"
)

// The world of a directory: the daemon of node 1, which has it, and nodes that make objects, pull them in chunks from each
// other, drop replicas and die, and sessions that end although the node lives. Messages between a node and node 1 keep their order and take their time. The model
// knows what node 1 has been told; from that alone it knows who has what.

const (
	chunks   = 3 // of each object
	maxNodes = 9 // in the life of a world; a number is never used again
	alive    = 5 // nodes at a time
)

// world is the nodes and the network between them.
type world struct {
	die     *sim.Die
	log     *sim.Log
	bug     bug
	dir     *Dir
	nodes   []*node
	net     *sim.Net[way, message]
	objects []*thing
	version Version
	calm    bool            // no more faults
	told    map[copyOf]bool // what node 1 has been told to be whole, and not since to be gone
	asked   map[uint64]Node // questions that are not answered
	lastAsk uint64
	wrong   error
	owed    map[owed]bool // whom node 1 has to tell now that an object is freed
}

type owed struct {
	to Node
	id ids.Object
}

// way is one direction between a node and node 1.
type way struct{ from, to Node }

type copyOf struct {
	id ids.Object
	v  Version
	n  Node
}

// thing is an object as its owner knows it.
type thing struct {
	id     ids.Object
	size   uint64
	freed  bool
	making Version // which was begun last, until node 1 has heard of it
	newest Version // of which node 1 heard last
	result Version // the same, if the task that makes it has replied to its caller on node 1
}

// message is what a node says, or what it is told.
type message struct {
	from    Node
	what    string
	id      ids.Object
	version Version
	size    uint64
	holder  Node
	absent  bool
	ask     uint64
	action  Action
}

// node is one node.
type node struct {
	w       *world
	number  Node
	dead    bool
	heard   bool // node 1 has heard of its death
	things  map[ids.Object]*have
	inOrder []ids.Object
}

// have is what a node has of an object, or wants of it.
type have struct {
	version Version
	whole   bool
	making  bool
	replica bool
	asks    bool   // has asked where it is, or whether it may drop it
	holder  Node   // from which it pulls; 0: it does not
	more    []Node // from which it can go on when that one fails
	got     int
}

func newWorld(d *sim.Die, log *sim.Log, b bug) *world {
	w := &world{die: d, log: log, bug: b, dir: New(), net: sim.NewNet[way, message](d), told: map[copyOf]bool{}, asked: map[uint64]Node{}}
	for range alive {
		w.join()
	}
	return w
}

func (w *world) join() {
	w.nodes = append(w.nodes, &node{w: w, number: Node(len(w.nodes) + 1), things: map[ids.Object]*have{}})
}

// Step implements sim.World.
func (w *world) Step() error {
	switch k := w.die.N(20); {
	case k < 7:
		if err := w.deliver(); err != nil {
			return err
		}
	case k < 8:
		w.make()
	case k < 9 && len(w.objects) > 0 && w.die.OneIn(3):
		if err := w.free(sim.Pick(w.die, w.objects)); err != nil {
			return err
		}
	case k < 10 && w.die.OneIn(8):
		w.kill()
	case k < 10 && w.die.OneIn(8):
		w.cut()
	case k < 11 && w.die.OneIn(4):
		k := way{Node(w.die.Between(2, len(w.nodes))), 1}
		if w.die.OneIn(2) {
			k.from, k.to = k.to, k.from
		}
		w.net.Block(k)
	case k < 12:
		w.net.UnblockAll()
	default:
		sim.Pick(w.die, w.nodes).act()
	}
	return w.check()
}

// make has a node begin to write a new object, or one whose earlier version node 1 knows.
func (w *world) make() {
	n := sim.Pick(w.die, w.nodes)
	if n.dead {
		return
	}
	var x *thing
	if len(w.objects) > 0 && w.die.OneIn(4) {
		if x = sim.Pick(w.die, w.objects); x.freed || x.making != 0 || n.things[x.id] != nil {
			return
		}
	} else {
		i := len(w.objects) + 1
		x = &thing{id: objectOf(100*w.die.N(2) + i), size: uint64(1 + 100*w.die.N(2)<<20)}
		w.objects = append(w.objects, x)
	}
	w.version++
	x.making = w.version
	n.enter(x.id, &have{version: w.version, making: true})
	made, reply := message{what: "made", id: x.id, version: w.version, size: x.size}, message{what: "reply", id: x.id, version: w.version}
	if w.bug == "replies before it has told what it makes" {
		made, reply = reply, made
	}
	n.say(made)
	n.say(reply)
}

// free frees an object, or all that its owner has. Each node that has, makes or wants one of them is told.
func (w *world) free(x *thing) error {
	all := w.die.OneIn(6)
	w.owed = map[owed]bool{}
	w.log.Note("object %d is freed, all: %v", x.id.Count(), all)
	for _, y := range w.objects {
		if y == x || all && y.id.Owner() == x.id.Owner() {
			y.freed = true
			if e := w.dir.entries[y.id]; e != nil {
				for _, m := range e.members {
					w.owed[owed{m.node, y.id}] = true
				}
			}
		}
	}
	if all {
		w.dir.OwnerGone(x.id.Owner())
	} else {
		w.dir.Freed(x.id)
	}
	w.told1()
	if len(w.owed) > 0 {
		return fmt.Errorf("%d members are not told that an object is freed", len(w.owed))
	}
	return nil
}

// kill ends a node. The others hear of it later.
func (w *world) kill() {
	if n := sim.Pick(w.die, w.nodes[1:]); !n.dead && len(w.nodes) < maxNodes {
		w.log.Note("node %d dies", n.number)
		n.dead = true
		w.net.Lose(way{n.number, 1})
		w.net.Send(way{0, 1}, message{from: n.number, what: "dead"})
		w.join()
	}
}

// cut ends the session between node 1 and a node that lives on. Both take each other for dead, and begin anew: what was on its
// way does not count, and the node gives up all objects, since their owners are on node 1.
func (w *world) cut() {
	n := sim.Pick(w.die, w.nodes[1:])
	if n.dead {
		return
	}
	w.log.Note("the session with node %d is lost", n.number)
	w.net.LoseAll(way{1, n.number})
	if w.bug != "hears the session before" {
		w.net.LoseAll(way{n.number, 1})
	}
	w.gone(n)
	n.things, n.inOrder = map[ids.Object]*have{}, nil
	if w.bug != "never comes back" {
		w.dir.NodeBack(n.number)
	}
	w.told1()
}

// gone is what node 1 does when a node is gone.
func (w *world) gone(n *node) {
	for k := range w.told {
		if k.n == n.number {
			delete(w.told, k)
		}
	}
	for ask, by := range w.asked {
		if by == n.number {
			delete(w.asked, ask)
		}
	}
	if w.bug != "keeps the dead" {
		w.dir.NodeGone(n.number)
	}
	for _, x := range w.objects { // a version that was never announced does not come any more
		if e := n.things[x.id]; e != nil && e.version == x.making {
			x.making = 0
		}
	}
}

// deliver lets one message arrive.
func (w *world) deliver() error {
	k, m, ok := w.net.Deliver()
	switch {
	case !ok:
		return nil
	case k.to == 1 && m.action == nil:
		return w.hear(m)
	}
	if n := w.nodes[k.to-1]; !n.dead {
		return n.hear(m.action)
	}
	return nil
}

// hear is what node 1 does with what a node says.
func (w *world) hear(m message) error {
	w.log.Note("node %d: %s %d version %d holder %d absent %v ask %d", m.from, m.what, m.id.Count(), m.version, m.holder, m.absent, m.ask)
	w.bug.before(w, &m)
	id, late := m.id, w.nodes[m.from-1].heard
	if m.what != "dead" {
		w.learn(&m)
	}
	switch m.what {
	case "made":
		x := w.find(id)
		if x.making == m.version {
			x.making = 0
		}
		if x.newest = m.version; x.result != m.version {
			x.result = 0
		}
		if x.freed { // the daemon knows what its own processes have freed
			w.tell(Free{To: m.from, ID: id})
			break
		}
		w.dir.Made(id, m.version, m.size, m.from)
	case "reply": // the result is there, or comes: a process of node 1 reads it
		if x := w.find(id); !late && m.version >= x.newest {
			x.result = m.version
			w.nodes[0].want(x)
		}
	case "has":
		w.dir.Has(id, m.version, m.from)
	case "gone":
		w.dir.Gone(id, m.version, m.from)
	case "where":
		if !late {
			w.asked[m.ask] = m.from
		}
		w.dir.Where(id, m.from, m.ask)
	case "failed":
		w.dir.Failed(id, m.version, m.from, m.holder, m.absent)
	case "stop":
		w.dir.Stop(id, m.from)
	case "drop":
		may := w.dir.Drop(id, m.version, m.from)
		if w.bug == "lets the last copy go" {
			may = true
		}
		if e := w.dir.entries[id]; may && e != nil && e.version == m.version && e.primary.node == m.from {
			return fmt.Errorf("node %d may drop the primary of object %d", m.from, id.Count())
		}
		if may {
			delete(w.told, copyOf{id, m.version, m.from})
		}
		w.tell(dropped{m.from, id, may})
	case "dead":
		w.nodes[m.from-1].heard = true
		w.gone(w.nodes[m.from-1])
	}
	w.told1()
	w.bug.after(w, &m)
	if w.wrong != nil {
		return w.wrong
	}
	return w.lostNothing(id)
}

// learn notes what a message says of who has what.
func (w *world) learn(m *message) {
	if w.nodes[m.from-1].heard {
		return
	}
	e := w.dir.entries[m.id]
	current := e != nil && e.version == m.version
	switch {
	case m.what == "made": // the newest version counts
		for k := range w.told {
			if k.id == m.id && k.v != m.version {
				delete(w.told, k)
			}
		}
	case m.what == "has" && current:
		w.told[copyOf{m.id, m.version, m.from}] = true
	case m.what == "gone":
		delete(w.told, copyOf{m.id, m.version, m.from})
	case m.what == "where":
		for k := range w.told {
			if k.id == m.id && k.n == m.from {
				delete(w.told, k)
			}
		}
	case m.what == "failed" && m.absent && w.bug != "takes a broken connection for a loss":
		delete(w.told, copyOf{m.id, m.version, m.holder})
	}
}

// lostNothing checks that an object of which a copy is known has an entry.
func (w *world) lostNothing(id ids.Object) error {
	e := w.dir.entries[id]
	x := w.find(id)
	if x == nil || x.freed {
		return nil
	}
	for k := range w.told {
		if k.id != id {
			continue
		}
		if e == nil {
			return fmt.Errorf("object %d is lost, and node %d has it", id.Count(), k.n)
		}
		if e.version == k.v && (e.member(k.n) == nil || !e.member(k.n).whole) {
			return fmt.Errorf("object %d version %d: node %d has it and is not known", id.Count(), k.v, k.n)
		}
	}
	return nil
}

// isLost checks that nobody is told of the loss of a result that its node still makes.
func (w *world) isLost(a Lost) {
	x := w.find(a.ID)
	for _, n := range w.nodes {
		if e := n.things[a.ID]; !x.freed && !n.dead && e != nil && e.making && e.version == x.result {
			w.wrong = fmt.Errorf("%s: node %d makes it", a, n.number)
		}
	}
}

func (w *world) find(id ids.Object) *thing {
	for _, x := range w.objects {
		if x.id == id {
			return x
		}
	}
	return nil
}

// told1 sends what the directory tells.
func (w *world) told1() {
	for _, a := range w.dir.Actions() {
		for _, b := range w.bug.changes(w, a) {
			w.tell(b)
		}
	}
}

func (w *world) tell(a Action) {
	w.log.Note("%s", a)
	switch a := a.(type) {
	case Free:
		if a.Version == 0 {
			delete(w.owed, owed{a.To, a.ID})
		}
	case Lost:
		w.isLost(a)
	}
	w.net.Send(way{1, a.For()}, message{action: a})
}

// dropped answers whether a replica may be dropped.
type dropped struct {
	to  Node
	id  ids.Object
	may bool
}

func (a dropped) For() Node { return a.to }
func (a dropped) String() string {
	return fmt.Sprintf("node %d may drop %d: %v", a.to, a.id.Count(), a.may)
}

// check compares the directory with its invariants.
func (w *world) check() error {
	for _, x := range w.objects {
		e := w.dir.entries[x.id]
		if e == nil {
			continue
		}
		if err := e.check(); err != nil {
			return fmt.Errorf("object %d: %w", x.id.Count(), err)
		}
		if w.dir.owned[x.id.Owner()][x.id] != e {
			return fmt.Errorf("object %d is not among those of its owner", x.id.Count())
		}
	}
	return nil
}

func (e *entry) check() error {
	load := map[*member]int{}
	seen := map[Node]bool{}
	for _, m := range e.members {
		if seen[m.node] {
			return fmt.Errorf("node %d is two members", m.node)
		}
		seen[m.node] = true
		if m.making && m != e.primary || m.whole && m.from != nil || m.from != nil && len(m.asks) > 0 {
			return fmt.Errorf("node %d is in two states", m.node)
		}
		if m.from != nil {
			load[m.from]++
		}
		for _, x := range m.more {
			if load[x]++; m.from == nil || !m.from.whole || !x.whole || x == m.from || x == m {
				return fmt.Errorf("node %d also pulls from node %d", m.node, x.node)
			}
		}
		if uint64(len(m.more)) >= min(mostHolders, (e.size+holderPart-1)/holderPart) && len(m.more) > 0 {
			return fmt.Errorf("node %d pulls from %d others besides", m.node, len(m.more))
		}
		for x, n := m, 0; x != nil; x, n = x.from, n+1 {
			if n > len(e.members) {
				return fmt.Errorf("nodes pull in a circle from node %d on", m.node)
			}
		}
	}
	for _, m := range e.members {
		if m.load != load[m] || m.load > e.bound() {
			return fmt.Errorf("node %d serves %d of at most %d, and is said to serve %d", m.node, load[m], e.bound(), m.load)
		}
	}
	if !slices.Contains(e.members, e.primary) || !e.primary.whole && !e.primary.making {
		return fmt.Errorf("there is no primary")
	}
	return nil
}
