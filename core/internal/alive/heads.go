package alive

import (
	"slices"
	"time"
)

// Heads is what the head that leads knows of the nodes' lives.
type Heads struct {
	t        Timing
	now      time.Duration   // as of the last event
	listened time.Duration   // how much of it this head has listened; all times of members count in it
	members  []*member       // in the order of their numbers: those that live, and those that wait for MayRestart
	died     map[uint32]bool // of those that this head has listened to
	round    round
	out      []Action
}

// member is a node.
type member struct {
	number      uint32
	since       time.Duration // when a new heartbeat came last, or when this head began to listen for one
	fresh       bool          // a new heartbeat came after the last Advance
	heard       uint64        // the highest heartbeat
	covered     uint64        // of these, what the round under way covers
	acked       uint64        // what was acknowledged
	unreachable bool
	dead        bool // it was declared dead, and MayRestart is not yet said
}

// NewHeads returns the machine of a head that begins to lead now. nodes are those that live, as the state says, and dead those that it
// has as dead without proof: what they run may have been promised something by the head before.
func NewHeads(t Timing, now time.Duration, nodes, dead []uint32) *Heads {
	h := &Heads{t: t, now: now, died: map[uint32]bool{}}
	h.round.next = now
	for _, n := range nodes {
		h.join(n)
	}
	for _, n := range dead {
		h.join(n)
		h.Died(n)
	}
	return h
}

func (h *Heads) join(n uint32) {
	i, known := h.find(n)
	if !known {
		h.members = slices.Insert(h.members, i, &member{number: n, since: h.listened, fresh: true})
	}
}

func (h *Heads) find(n uint32) (int, bool) {
	return slices.BinarySearchFunc(h.members, n, func(m *member, n uint32) int {
		switch {
		case m.number < n:
			return -1
		case m.number > n:
			return 1
		}
		return 0
	})
}

// living returns the member of a node that lives, nil for any other.
func (h *Heads) living(n uint32) *member {
	if i, known := h.find(n); known && !h.members[i].dead {
		return h.members[i]
	}
	return nil
}

// Up says that the state has a node among the living: it was registered, or has renewed its registration. The state refuses a node
// that is dead there. One whose death this head has asked for, and which is not committed yet, is told.
func (h *Heads) Up(n uint32) {
	if h.died[n] {
		h.do(Action{Kind: TellDead, Node: n})
		return
	}
	h.join(n)
}

// Living returns how many nodes live.
func (h *Heads) Living() (n int) {
	for _, m := range h.members {
		if !m.dead {
			n++
		}
	}
	return n
}

// Heard says that a heartbeat came from a node for which Up was called, or which is dead. One that came before, or is older than
// another one that came, proves nothing.
func (h *Heads) Heard(n uint32, number uint64) {
	m := h.living(n)
	if m == nil {
		h.do(Action{Kind: TellDead, Node: n})
		return
	}
	if number <= m.heard {
		return
	}
	m.heard, m.fresh = number, true
	if m.unreachable {
		m.unreachable = false
		h.do(Action{Kind: Reachable, Node: n})
	}
}

// Died says that the state has a node as dead, without proof.
func (h *Heads) Died(n uint32) {
	if m := h.living(n); m != nil {
		m.dead, h.died[n] = true, true
	}
}

// MayReplace reports whether what a dead node has run may be started elsewhere: MayRestart was said, or this head has never counted on the node.
func (h *Heads) MayReplace(n uint32) bool {
	_, known := h.find(n)
	return !known
}

// Gone says that there is proof of a node's death. why is Obituary or Goodbye.
func (h *Heads) Gone(n uint32, why Why) {
	i, known := h.find(n)
	if !known {
		return
	}
	if m := h.members[i]; !m.dead {
		h.died[n] = true
		h.do(Action{Kind: Dead, Node: n, Why: why})
	}
	h.do(Action{Kind: MayRestart, Node: n})
	h.members = slices.Delete(h.members, i, i+1)
}

// Advance says what time it is.
func (h *Heads) Advance(now time.Duration) {
	h.listen(now)
	h.judge()
	h.propose()
}

// NextTime returns when Advance is needed at the latest. some is false while there is nobody to listen to.
func (h *Heads) NextTime() (at time.Duration, some bool) {
	return h.now + h.t.Every, len(h.members) > 0
}

func (h *Heads) do(a Action) { h.out = append(h.out, a) }

// Actions returns what is to be done since the last call. The list is the caller's.
func (h *Heads) Actions() []Action {
	list := h.out
	h.out = nil
	return list
}
