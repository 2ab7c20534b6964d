package alive

import (
	"fmt"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/internal/sim"
)

// The world of a cluster: some heads, of which one leads at a time, and nodes. Messages are lost, late and doubled, ways are cut in one
// direction or both, processes are stopped and go on, and clocks drift by up to 16 % against each other. The model knows when a
// heartbeat came, how long a head has listened, and what raft has committed.

// drift is how far a clock may be wrong, in millionths: 7.4 % fast and 7.4 % slow are 16 % apart.
const drift = 74_000

type world struct {
	d        *sim.Die
	log      *sim.Log
	t        Timing
	now      time.Duration
	heads    []*head // the last one leads; the others were replaced
	nodes    []*node // by number, from 1
	messages []message
	actor    tokens
	shaken   bool // something that ends a node often ends the head, too
	calm     bool
	bug      bug
}

// message is on its way until at.
type message struct {
	at     time.Duration
	what   string // "heartbeat", "acknowledged", "dead", "proof", "committed"
	node   uint32
	head   *head
	number uint64
	ok     bool
	gone   Why
}

// head is a process of a head.
type head struct {
	w        *world
	id       int
	clock    sim.Clock
	m        *Heads
	stopped  time.Duration // until when the process is stopped
	listened time.Duration // by its clock, without what it was stopped
	advanced time.Duration // world time of the last Advance
	came     map[uint32]time.Duration
	fresh    map[uint32]bool // came since the last Advance
	newest   map[uint32]uint64
	proposed map[uint64]map[uint32]uint64 // what had come when a round was proposed
	commits  map[uint64]bool
	rounds   time.Duration // when the last round was proposed, by its clock
	alive    map[uint32]bool
	sure     map[uint32]bool // there was proof
	limit    time.Duration   // of silence, at the last Advance
}

// node is a daemon.
type node struct {
	w        *world
	number   uint32
	clock    sim.Clock
	m        *Node
	up       bool // it is registered
	stopped  time.Duration
	ended    bool // the process is gone
	declared bool // its death is committed
	replaced bool // its exclusive actors may run elsewhere
	told     bool
	to, from time.Duration // until when messages to and from it are lost
	until    time.Duration // what it was promised
	sure     bool          // the state has the proof of its death
	frozen   time.Duration // until when its workers are stopped
	hosts    []int         // tokens whose workers run here
}

func newWorld(d *sim.Die, log *sim.Log, b bug) *world {
	w := &world{d: d, log: log, bug: b, actor: tokens{newest: 1, ran: map[int]uint32{}}}
	w.t, _ = NewTiming(sim.Pick(d, []time.Duration{leastDead, DefaultDead, DefaultDead, DefaultDead, 20 * time.Second}))
	w.lead()
	for range d.Between(1, 6) {
		w.joins()
	}
	return w
}

func (w *world) clock() sim.Clock {
	return sim.Clock{Offset: w.d.Duration(time.Hour), Drift: w.d.Between(-drift, drift)}
}

func (w *world) note(format string, args ...any) {
	w.log.Note("%v %s", w.now.Round(time.Millisecond), fmt.Sprintf(format, args...))
}

func (w *world) leader() *head { return w.heads[len(w.heads)-1] }

// lead begins a new leadership. The old leader does not know yet.
func (w *world) lead() {
	h := &head{
		w: w, id: len(w.heads), clock: w.clock(), advanced: w.now, came: map[uint32]time.Duration{}, fresh: map[uint32]bool{}, newest: map[uint32]uint64{},
		proposed: map[uint64]map[uint32]uint64{}, commits: map[uint64]bool{}, alive: map[uint32]bool{}, sure: map[uint32]bool{},
	}
	var living, dead []uint32
	for _, n := range w.nodes {
		if n.declared && !n.sure && w.bug != "a new head forgets the dead" {
			dead = append(dead, n.number)
		}
		if n.up && !n.declared {
			living = append(living, n.number)
			h.alive[n.number], h.fresh[n.number] = true, true
		}
	}
	h.rounds = h.time() - time.Hour
	h.m = NewHeads(w.t, h.time(), living, dead)
	w.heads = append(w.heads, h)
	w.bug.led(h)
	w.note("head %d leads", h.id)
}

// joins gives a node a number. It may be registered later, when other numbers are.
func (w *world) joins() {
	n := &node{w: w, number: uint32(len(w.nodes) + 1), clock: w.clock()}
	w.nodes = append(w.nodes, n)
	if !w.d.OneIn(3) {
		n.registers()
	}
}

func (n *node) registers() {
	h := n.w.leader()
	n.up, n.m = true, NewNode(n.w.t, n.time())
	h.alive[n.number], h.fresh[n.number] = true, true
	n.w.note("node %d joins", n.number)
	n.w.bug.beforeUp(h, n.number)
	h.m.Up(n.number)
}

func (h *head) time() time.Duration { return h.clock.At(h.w.now) }
func (n *node) time() time.Duration { return n.clock.At(n.w.now) }

// sends puts a message on its way.
func (w *world) sends(x message) {
	n := w.nodes[max(1, x.node)-1]
	lost := x.what == "heartbeat" && n.from > w.now || (x.what == "acknowledged" || x.what == "dead" || x.what == "start") && n.to > w.now
	if x.what != "committed" && x.what != "proof" && !w.calm && w.d.OneIn(30) {
		lost = true
	}
	if lost {
		return
	}
	for {
		x.at = w.now + w.d.Duration(60*time.Millisecond)
		if !w.calm && w.d.OneIn(15) {
			x.at += w.d.Duration(15 * time.Second)
		}
		w.messages = append(w.messages, x)
		if w.calm || x.what == "committed" || !w.d.OneIn(15) {
			return
		}
	}
}

// Step is a moment: time passes, something breaks or heals, what is due arrives.
func (w *world) Step() error {
	n := sim.Pick(w.d, w.nodes)
	if !n.up {
		n.registers()
	}
	if w.shaken {
		w.shaken = false
		w.lead()
	}
	switch w.d.N(300) {
	case 0:
		n.stopped = w.now + w.d.Duration(25*time.Second)
		w.note("node %d is stopped", n.number)
	case 1:
		n.to = w.now + w.d.Duration(25*time.Second)
		w.note("nothing reaches node %d", n.number)
	case 2:
		n.from = w.now + w.d.Duration(25*time.Second)
		w.note("nothing comes from node %d", n.number)
	case 3:
		n.to = w.now + w.d.Duration(25*time.Second)
		n.from = n.to
		w.note("node %d is cut off", n.number)
	case 4:
		if h := w.leader(); w.d.OneIn(2) {
			h.stopped = w.now + w.d.Duration(40*time.Second)
			w.note("head %d is stopped", h.id)
		}
	case 5:
		if w.d.OneIn(4) {
			if h := w.leader(); w.d.OneIn(2) {
				h.stopped = w.now + w.d.Duration(20*time.Second)
			}
			w.lead()
		}
	case 6:
		if !n.ended && w.d.OneIn(3) {
			n.ends()
		}
	case 7:
		if len(w.nodes) < 12 {
			w.joins()
		}
	case 9:
		n.freezes()
	case 8:
		if w.d.OneIn(3) { // something between the head and many of them
			end := w.now + w.d.Duration(40*time.Second)
			for _, n := range w.nodes {
				if !w.d.OneIn(4) {
					n.from = end
				}
			}
			w.note("nothing comes from most nodes")
		}
	}
	return w.moment()
}

// ends ends a node's processes; its warden or the node itself may say so.
func (n *node) ends() {
	n.ended = true
	n.w.note("node %d ends", n.number)
	if n.w.d.OneIn(2) {
		n.w.sends(message{what: "proof", node: n.number, gone: sim.Pick(n.w.d, []Why{Obituary, Goodbye})})
	}
}

func (w *world) moment() error {
	w.now += w.d.Duration(200 * time.Millisecond)
	var due []message
	w.messages = slices.DeleteFunc(w.messages, func(x message) bool {
		if x.what != "committed" && x.what != "heartbeat" && x.what != "proof" {
			if w.nodes[x.node-1].stopped > w.now {
				return false
			}
		} else if h := w.to(x); h.stopped > w.now {
			return false
		}
		if x.at <= w.now {
			due = append(due, x)
		}
		return x.at <= w.now
	})
	for len(due) > 0 {
		i := w.d.N(len(due))
		if err := w.arrives(due[i]); err != nil {
			return err
		}
		due = slices.Delete(due, i, i+1)
	}
	for _, h := range w.heads {
		if err := h.moment(); err != nil {
			return fmt.Errorf("head %d at %v: %w", h.id, w.now, err)
		}
	}
	w.leader().places()
	for _, n := range w.nodes {
		if !n.up {
			continue
		}
		if err := n.works(); err != nil {
			return fmt.Errorf("node %d at %v: %w", n.number, w.now, err)
		}
		if err := n.moment(); err != nil {
			return fmt.Errorf("node %d at %v: %w", n.number, w.now, err)
		}
	}
	return nil
}

// to returns the head that a message is for: messages of nodes find the leader.
func (w *world) to(x message) *head {
	if x.head != nil {
		return x.head
	}
	return w.leader()
}

func (w *world) arrives(x message) error {
	h := w.to(x)
	switch x.what {
	case "heartbeat":
		return h.heard(x)
	case "proof":
		w.note("head %d hears the proof of node %d", h.id, x.node)
		h.sure[x.node] = true
		n := w.nodes[x.node-1]
		n.sure = h == w.leader()
		if w.bug != "hears no proof" {
			h.m.Gone(x.node, x.gone)
		}
		return h.actions()
	case "committed":
		w.bug.beforeCommitted(h)
		h.m.Committed(x.number, x.ok)
		return h.actions()
	}
	n := w.nodes[x.node-1]
	if n.ended {
		return nil
	}
	if x.what == "start" {
		n.hosts = append(n.hosts, int(x.number))
		return nil
	}
	if x.what == "dead" {
		n.told = true
		n.m.ToldDead()
	} else {
		w.bug.beforeAcknowledged(n, x.number)
		n.m.Acknowledged(x.number)
	}
	return n.actions()
}
