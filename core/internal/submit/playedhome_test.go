package submit

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// playedHome is a node's daemon: what it knows of this process, and the messages in both directions
// that have not arrived. Those of one direction arrive in order.
type playedHome struct {
	node    uint32
	defined map[uint32]bool
	wants   map[uint32]int    // by class
	answers map[uint32]uint64 // leases of the class that were granted, offered or refused
	in, out []func()          // from this process, and to it
}

func newPlayedHome(node uint32) *playedHome {
	return &playedHome{node: node, defined: map[uint32]bool{}, wants: map[uint32]int{}, answers: map[uint32]uint64{}}
}

// quiet reports whether no message is on its way.
func (h *playedHome) quiet() bool { return len(h.in)+len(h.out) == 0 }

// Push implements Effects.
func (w *played) Push(t wire.Type, body any) {
	h := w.own
	switch m := body.(type) {
	case wire.LeaseMove:
		w.held[m.LeaseID].class = m.ClassID
		h = w.held[m.LeaseID].of
	case wire.LeaseReturn:
		l := w.held[m.LeaseID]
		if l == nil {
			w.fail("lease %d, which this process has not, is given back", m.LeaseID)
		}
		delete(w.held, m.LeaseID)
		h = l.of
	}
	if !w.lost[h.node] {
		h.in = append(h.in, func() { w.hears(h, t, body) })
	}
}

// PushTo implements Effects.
func (w *played) PushTo(node uint32, t wire.Type, body any) {
	if h := w.other; h.node == node {
		h.in = append(h.in, func() { w.hears(h, t, body) })
		return
	}
	if !w.lost[node] {
		w.fail("node %d, of which nobody has spoken, is told %s", node, t)
	}
	w.other.out = append(w.other.out, func() { w.s.HomeLost(node, errors.New("there is no way to it")) })
}

// RoundTrip implements Effects.
func (*played) RoundTrip(uint32) time.Duration { return 20 * time.Millisecond }

// NodeName implements Effects.
func (*played) NodeName(uint32) string { return "another node" }

// hears has a daemon read a message.
func (w *played) hears(h *playedHome, t wire.Type, body any) {
	switch m := body.(type) {
	case wire.ClassDefine:
		if h.defined[m.ClassID] {
			w.fail("node %d hears twice what class %d is", h.node, m.ClassID)
		}
		h.defined[m.ClassID] = true
	case wire.LeaseWant:
		h.know(w, m.ClassID)
		if t == wire.TClassRetire {
			delete(h.defined, m.ClassID)
			delete(h.wants, m.ClassID)
			delete(h.answers, m.ClassID)
			return
		}
		if m.Seen == 0 || m.Seen-1 > h.answers[m.ClassID] {
			w.fail("node %d has given %d answers about class %d, and this process has seen %d less one", h.node, h.answers[m.ClassID], m.ClassID, m.Seen)
		}
		h.wants[m.ClassID] = max(0, m.Want-int(h.answers[m.ClassID]-(m.Seen-1)))
	case wire.LeaseMove:
		h.know(w, m.ClassID)
		h.wants[m.ClassID] = max(0, h.wants[m.ClassID]-1)
	case wire.LeaseRefused:
		if h != w.own {
			w.fail("node %d is told that an offer is not used", h.node)
		}
	}
}

// know fails the test when the daemon does not know a class.
func (h *playedHome) know(w *played, class uint32) {
	if !h.defined[class] {
		w.fail("node %d has not heard what class %d is", h.node, class)
	}
}

// answer has the daemon take up to most of the leases that a class wants off its list, and returns the class; none: nothing is wanted.
func (p *playing) answerWant(h *playedHome, most int) (class uint32, n int) {
	list := slices.Sorted(maps.Keys(h.wants))
	for _, i := range p.r.Perm(len(list)) {
		if wanted := h.wants[list[i]]; wanted > 0 {
			n = 1 + p.r.IntN(min(most, wanted))
			h.wants[list[i]] -= n
			h.answers[list[i]] += uint64(n)
			return list[i], n
		}
	}
	return 0, 0
}

// grant has the own daemon grant a lease, and grantThere the other node's.
func (p *playing) grant()      { p.grantOf(p.own) }
func (p *playing) grantThere() { p.grantOf(p.other) }

func (p *playing) grantOf(h *playedHome) {
	class, n := p.answerWant(h, 1)
	if n == 0 {
		return
	}
	p.played.granted++
	g := &wire.LeaseGrant{ClassID: class, LeaseID: uint64(h.node)<<32 | p.played.granted, Addr: "/worker"}
	if h != p.own {
		g.Addr = wire.AddressOf(ids.NewWorkerOn(h.node).Owner())
	}
	h.out = append(h.out, func() {
		p.held[g.LeaseID] = &playedLease{id: g.LeaseID, of: h, class: class}
		if h == p.own {
			p.s.LeaseGranted(g)
		} else {
			p.s.LeaseGrantedAt(h.node, g)
		}
	})
}

// offer has the own daemon offer leases of the other node.
func (p *playing) offer() {
	if class, n := p.answerWant(p.own, 3); n > 0 {
		o := &wire.LeaseOffer{ClassID: class, Node: p.other.node, N: n, Ticket: p.r.Uint64()}
		p.own.out = append(p.own.out, func() { p.s.LeaseOffered(o) })
	}
}

// refuse has the other node's daemon grant less than it was asked for.
func (p *playing) refuse() {
	if class, n := p.answerWant(p.other, 3); n > 0 {
		node := p.other.node
		p.other.out = append(p.other.out, func() { p.s.LeaseRefused(node, &wire.LeaseRefused{ClassID: class, N: n}) })
	}
}

// deliver lets a message arrive.
func (p *playing) deliver() {
	p.pipes = slices.DeleteFunc(p.pipes, func(line []func()) bool { return len(line) == 0 })
	lines := []*[]func(){&p.own.in, &p.own.out, &p.other.in, &p.other.out}
	for i := range p.pipes {
		lines = append(lines, &p.pipes[i])
	}
	for _, i := range p.r.Perm(len(lines)) {
		if line := lines[i]; len(*line) > 0 {
			arrives := (*line)[0]
			*line = (*line)[1:]
			arrives()
			return
		}
	}
}

// loseThere ends a worker of the other node. Its last answers and the end of its socket come through one pipe, its
// daemon's word through another one.
func (p *playing) loseThere(l *playedLease) {
	at := l.pipe
	var comes []func()
	for len(at.has) > 0 && p.r.IntN(2) == 0 {
		b := p.run(at, false)
		comes = append(comes, func() { p.says(l, b) })
		if len(at.has) > 0 {
			at.begin()
		}
	}
	at.dead = true
	word := &wire.LeaseBroken{LeaseID: l.id, Detail: "it was shot"}
	if p.known || p.r.IntN(8) > 0 {
		word.Begun, word.Known = at.begun, true
	}
	l.of.out = append(l.of.out, func() { p.s.LeaseBroken(word) })
	p.ends(l, comes)
}

// ends has the last that a worker has sent come through its pipe, and then the end, unless the submitter closes it before.
func (p *playing) ends(l *playedLease, comes []func()) {
	comes = append(comes, func() {
		l.pipe.ended = true
		l.on.Gone(errors.New("it is gone"))
	})
	for i, f := range comes {
		comes[i] = func() {
			if !l.pipe.ended {
				f()
			}
		}
	}
	p.pipes = append(p.pipes, comes)
}

// loseHome ends the other node, and another one takes its place. That the node is lost and that the
// sockets of its workers break is told in any order.
func (p *playing) loseHome() {
	h := p.other
	p.lost[h.node] = true
	p.other = newPlayedHome(h.node + 1)
	told := func() { p.s.HomeLost(h.node, errors.New("it has lost its power")) }
	first := p.r.IntN(2) == 0
	if first {
		told()
	}
	for _, id := range slices.Sorted(maps.Keys(p.held)) {
		l := p.held[id]
		switch {
		case l == nil || l.of != h || l.pipe == nil || l.pipe.ended || l.pipe.dead:
		case p.r.IntN(2) == 0: // what the own daemon's end of the pipe has still arrives
			l.pipe.dead = true
			p.ends(l, nil)
		default:
			l.pipe.dead, l.pipe.ended = true, true
			l.on.Gone(errors.New("its node is gone"))
		}
	}
	if !first {
		told()
	}
}
