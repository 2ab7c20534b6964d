package resume

import (
	"slices"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/sim"
)

// bug names what is wrong on purpose in a world: "" is nothing. Each method is called at one
// place of the world, and does what a wrong session would have done there.
type bug string

var bugs = []bug{
	"acknowledges a frame that has not come", "delivers a frame twice", "forgets what was written at the end of a connection",
	"resends from the second frame on", "writes beyond the window", "grants twice", "overlooks another boot", "believes an old hello", "ends before the data",
	"ends twice", "leaves a stream open when it is lost", "serves the lowest stream first", "lets streams overtake control",
	"keeps too much", "waits for a silent peer", "has no end of patience", "takes the end of a connection for a death",
	"stays at the relay", "never asks the relay", "moves without what is under way", "forgets to wake", "never acknowledges", "does not answer an end", "takes frames out of order",
}

func TestSim_EachBug_IsFound(t *testing.T) {
	for _, b := range bugs {
		t.Run(string(b), func(t *testing.T) {
			sim.Find(t, b.steps(), func(d *sim.Die, log *sim.Log) sim.World { return newWorld(d, log, b) })
		})
	}
}

// steps is how many events a seed has. The old hello takes many seeds, and must come early in them.
func (b bug) steps() int {
	if b == "believes an old hello" {
		return 120
	}
	return steps
}

func (b bug) beforeWrite(n *node, e *end) {
	switch b {
	case "writes beyond the window":
		n.s.stream(e.id).credit += 5
	case "keeps too much":
		n.s.o.MaxUnsent = 3 * n.w.o.MaxUnsent
	}
}

func (b bug) afterConsumed(n *node, e *end, k int) {
	if x := n.s.stream(e.id); b == "grants twice" && x != nil {
		x.consumed += k
	}
}

func (b bug) beforeEnd(n *node, e *end) {
	if b == "ends before the data" {
		n.s.throwOut(n.s.stream(e.id))
	}
}

func (b bug) beforeDetached(n *node, c ConnID) {
	k := n.s.conn
	if k == nil || k.id != c {
		return
	}
	switch b {
	case "forgets what was written at the end of a connection":
		for k.at > 0 {
			n.s.acknowledged(n.s.acked + 1)
		}
	case "takes the end of a connection for a death":
		n.s.lose(NodeDead)
	}
}

func (b bug) frame(n *node, f *Frame) {
	if f.Kind == kindAck {
		return
	}
	switch {
	case b == "delivers a frame twice" && f.Number <= n.s.received:
		f.Number = n.s.received + 1
	case b == "takes frames out of order" && f.Number == n.s.received+1 && n.w.d.OneIn(20):
		n.s.received++
	}
}

func (b bug) received(n *node, f Frame) {
	if x := n.s.streams[f.Stream]; b == "does not answer an end" && f.Kind == kindEnd && x != nil && !x.sentEnd {
		x.sentEnd = true
		n.s.forget(x)
	}
}

func (b bug) hello(n *node, h *Hello) {
	peer := n.w.nodes[1-n.i]
	switch {
	case b == "acknowledges a frame that has not come" && h.From == n.s.o.Self && peer.s.o.Boot == h.PeerBoot && h.Have < peer.s.made:
		h.Have++
	case b == "overlooks another boot" && h.From != n.s.o.Self && n.s.peerBoot != 0:
		h.Boot, h.PeerBoot = n.s.peerBoot, n.s.o.Boot
	case b == "believes an old hello" && h.From != n.s.o.Self && h.PeerBoot == n.s.o.Boot:
		h.Replaces = n.s.peerBoot
	}
}

func (b bug) attached(n *node, err error) {
	if s := n.s; b == "resends from the second frame on" && err == nil && s.conn != nil && s.log.n > 0 {
		s.conn.at = s.frameSize(0)
	}
	if s := n.s; b == "moves without what is under way" && err == nil && s.conn != nil && !s.conn.relayed && s.o.Relay {
		s.conn.at = s.log.n
	}
}

func (b bug) beforeNext(n *node) {
	s := n.s
	switch b {
	case "serves the lowest stream first":
		var all []*stream
		for x := s.ready.pop(); x != nil; x = s.ready.pop() {
			all = append(all, x)
		}
		slices.SortFunc(all, func(a, b *stream) int { return int(a.id) - int(b.id) })
		for _, x := range all {
			s.ready.push(x)
		}
	case "lets streams overtake control":
		if s.turn.x == nil {
			s.begin()
		}
		s.turn.due = 0
	case "never acknowledges":
		s.ack.told = s.received
	}
}

func (b bug) beforeAdvance(n *node) {
	switch b {
	case "waits for a silent peer":
		n.s.clock.silence = n.time()
	case "has no end of patience":
		n.s.clock.from = n.time()
	case "stays at the relay":
		n.s.direct.probe = n.time() + time.Hour
	}
}

func (b bug) actions(n *node, list []Action) []Action {
	list = slices.Clone(list)
	i := slices.IndexFunc(list, func(a Action) bool { return a.Kind == Ended })
	if b == "never asks the relay" {
		for k := range list {
			list[k].Relay = false
		}
	}
	switch {
	case b == "ends twice" && i >= 0:
		return slices.Insert(list, i, list[i])
	case b == "leaves a stream open when it is lost" && i >= 0 && n.s.lost != 0:
		return slices.Delete(list, i, i+1)
	case b == "forgets to wake":
		return slices.DeleteFunc(list, func(a Action) bool { return a.Kind == Writable })
	}
	return list
}
