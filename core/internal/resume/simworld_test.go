package resume

import (
	"fmt"
	"time"

	"github.com/eagleray/eagleray/core/internal/sim"
)

// The world of two sessions: two nodes whose programs open streams, write, read and end them, over
// a network that delays, cuts, blocks and repeats connections. Processes restart, and nodes are declared dead.
// The model knows what was written to each stream, and when relative to Control. From that alone it
// knows what may arrive.

// world is both nodes and the network between them.
type world struct {
	d     *sim.Die
	log   *sim.Log
	now   time.Duration
	o     Options // of both
	nodes [2]*node
	net   *sim.Net[way, []byte] // an empty message is the end of the connection
	wires []*cable
	known map[streamKey]*record
	over  map[uint64]bool // boot numbers of sessions that are over
	calm  bool            // no more faults
	wall  [2]bool         // nothing goes directly to this node
	rough bool            // processes restart often
	bug   bug
}

// way is one direction of a cable.
type way struct{ wire, to int }

// cable is a connection between the nodes.
type cable struct {
	id     int
	dialer int
	hello  []byte // what the dialer said
	ends   [2]*plug
	dead   bool // what is sent is lost, and nobody hears of it
	relay  bool // it goes through the third node, which no wall stops
}

// plug is one end of a cable.
type plug struct {
	n      *node
	s      *Session // to which it belongs; nil: the hello has not come
	c      ConnID
	waits  bool // for the hello or for the answer
	closed bool
	buf    []byte
}

// node is one node, with its program.
type node struct {
	w     *world
	i     int
	clock sim.Clock
	s     *Session
	ends  map[StreamID]*end
	order []*end // of ends
	dials []Action
	went  time.Duration // when something last came through, or nothing had to
	moved uint64        // received and acked, added
	dead  bool          // the session was told so
	bound uint64        // the boot number of the session's peer
	spoke *Session      // which session has said something since the faults ended
	most  uint64        // the last frame that went out
	since map[StreamID]wait
}

// end is the program's end of a stream.
type end struct {
	id     StreamID
	todo   int  // bytes to be written
	waits  bool // for Writable
	read   uint64
	held   int // bytes that came and are not consumed
	over   bool
	target string
}

// streamKey names one direction of a stream: who writes it.
type streamKey struct {
	boot uint64
	id   StreamID
}

// record is what was written to a stream.
type record struct {
	written uint64
	fences  []fence
	why     Reason // of the writer's End
	opened  bool   // the other end has heard of it
	target  string
}

// wait is how many turns of others a stream has waited for, and how many streams there were at most meanwhile.
type wait struct{ turns, streams int }

// fence says that the bytes from at on were written when Control had so many.
type fence struct{ at, control uint64 }

func newWorld(d *sim.Die, log *sim.Log, b bug) *world {
	w := &world{d: d, log: log, net: sim.NewNet[way, []byte](d), known: map[streamKey]*record{}, over: map[uint64]bool{}, bug: b}
	w.o.Window = sim.Pick(d, []int{50, 50, 500, 500, 500, 500, 5000, 5000, 5000, 70_000, 150_000})
	w.o.MaxUnsent = max(2*MaxTarget, w.o.Window*d.Between(4, 12))
	w.o.MaxStreams = d.Between(1, 12)
	w.o.Keep = d.OneIn(4)
	w.o.Relay = d.OneIn(2)
	w.rough = d.OneIn(3)
	numbers := [2]uint32{7, 9}
	if d.OneIn(2) {
		numbers = [2]uint32{9, 7}
	}
	for i := range w.nodes {
		w.nodes[i] = &node{w: w, i: i, clock: sim.NewClock(d)}
	}
	for i, n := range w.nodes {
		o := w.o
		o.Self, o.Peer = numbers[i], numbers[1-i]
		n.begins(o)
	}
	return w
}

// begins gives a node a new session.
func (n *node) begins(o Options) {
	o.Boot = n.w.d.Uint64()
	s, err := New(o)
	if err != nil {
		panic(err)
	}
	if n.s != nil {
		n.w.over[n.s.o.Boot] = true
	}
	n.s, n.ends, n.order, n.dials, n.dead, n.most, n.moved, n.bound = s, map[StreamID]*end{}, nil, nil, false, 0, 0, 0
	n.since = map[StreamID]wait{}
	n.w.note("%d begins with boot %x", n.i, o.Boot)
	n.add(Control, "")
	s.Advance(n.time())
	n.went = s.now
}

func (n *node) time() time.Duration { return n.clock.At(n.w.now) }

func (n *node) add(id StreamID, target string) *end {
	e := &end{id: id, target: target}
	n.ends[id] = e
	n.order = append(n.order, e)
	n.w.known[streamKey{n.s.o.Boot, id}] = &record{target: target}
	return e
}

func (n *node) record(id StreamID) *record { return n.w.known[streamKey{n.s.o.Boot, id}] }

// peers returns the record of what the peer wrote to a stream.
func (n *node) peers(id StreamID) *record { return n.w.known[streamKey{n.s.peerBoot, id}] }

// contents returns n bytes that the session with this boot number writes to a stream, from an offset on.
func contents(boot uint64, id StreamID, at uint64, n int) []byte {
	b := make([]byte, n)
	first := boot + uint64(id)*37
	for i := range b {
		b[i] = byte(first + (at+uint64(i))*11 + (at+uint64(i))>>8)
	}
	return b
}

func (w *world) note(format string, args ...any) {
	w.log.Note("%v %s", w.now, fmt.Sprintf(format, args...))
}

// Step does one event of a program, of the network or of the clock.
func (w *world) Step() error {
	n := w.nodes[w.d.N(2)]
	var err error
	k := w.d.N(1000)
	if w.rough && w.d.OneIn(8) {
		k = w.d.Between(978, 997)
	}
	switch {
	case k < 230:
		err = w.deliver()
	case k < 400:
		err = n.pump()
	case k < 470:
		w.pass(w.d.Duration(20 * time.Millisecond))
	case k < 490:
		w.pass(w.d.Duration(3 * time.Second))
	case k < 492:
		w.pass(w.d.Duration(30 * time.Second))
	case k < 560:
		n.dialsOne()
	case k < 760:
		n.writes(sim.Pick(w.d, n.order), w.d.Between(1, w.o.Window*5/4))
	case k < 860:
		n.reads(sim.Pick(w.d, n.order))
	case k < 910:
		n.opens()
	case k < 950:
		n.closes(sim.Pick(w.d, n.order))
	case k < 970:
		w.cuts()
	case k < 977:
		w.blocks()
	case k < 980:
		w.walls()
	case k < 993:
		w.replays()
	case k < 998:
		err = n.restarts()
	case k == 998 && w.d.OneIn(3):
		w.note("%d hears that its peer is dead", n.i)
		n.dead = true
		n.s.PeerDead()
	}
	if err != nil {
		return err
	}
	return w.settle()
}

// settle carries out what the sessions want, and checks them.
func (w *world) settle() error {
	for _, n := range w.nodes {
		w.bug.beforeAdvance(n)
		n.s.Advance(n.time())
		if err := n.actions(); err != nil {
			return err
		}
		if err := n.check(); err != nil {
			return fmt.Errorf("node %d at %v: %w", n.i, w.now, err)
		}
	}
	return nil
}

func (w *world) pass(d time.Duration) {
	w.now += d
	w.note("time passes")
}

// restarts ends a node's process and begins another one. Its connections break, or nobody hears of it.
func (n *node) restarts() error {
	n.w.note("%d restarts", n.i)
	if cables := len(n.w.wires); n.w.d.OneIn(2) {
		n.dialsOne() // its last hello is slow
		if len(n.w.wires) > cables {
			n.w.net.Block(way{cables, 1 - n.i})
		}
	}
	for _, c := range n.w.wires {
		if p := c.ends[n.i]; p != nil && !p.closed {
			p.closed = true
			if n.w.d.OneIn(2) {
				n.w.net.Send(way{c.id, 1 - n.i}, nil)
			}
		}
	}
	n.begins(n.s.o)
	return nil
}

// check compares a session with what may be.
func (n *node) check() error {
	s := n.s
	if s.lost != 0 {
		return fmt.Errorf("the session is lost, and nobody was told")
	}
	own := 10*s.own + (headerSize+10)*int(s.made-s.acked) // frames, and targets of 10 bytes
	if s.log.n > n.w.o.MaxUnsent || s.unsent() > n.w.o.MaxUnsent+own {
		return fmt.Errorf("%d bytes are unsent, %d of them in the log, and %d are allowed", s.unsent(), s.log.n, n.w.o.MaxUnsent)
	}
	queued := s.control.out.n
	for _, x := range s.streams {
		queued += x.out.n + len(x.target)
	}
	if queued != s.queued {
		return fmt.Errorf("%d bytes are queued, and the session counts %d", queued, s.queued)
	}
	for _, e := range n.order {
		if e.held > s.o.Window {
			return fmt.Errorf("stream %d has %d unread bytes, and the window is %d", e.id, e.held, s.o.Window)
		}
	}
	if calm := s.log.n == 0 && (s.conn != nil || !s.wanted()); calm || s.received+s.acked != n.moved {
		n.went, n.moved = s.now, s.received+s.acked
	} else if s.now-n.went >= n.w.o.patience() {
		return fmt.Errorf("nothing came through for %v, and the session is not lost", s.now-n.went)
	}
	return nil
}
