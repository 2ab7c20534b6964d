package dir

import (
	"slices"

	"github.com/eagleray/eagleray/core/ids"
)

// How many pullers a member serves at a time.
const (
	manyServed = 2
	fewServed  = 1        // of a large object
	largeFrom  = 64 << 20 // a larger object is large
)

// entry is one object.
type entry struct {
	id      ids.Object
	version Version
	size    uint64
	members []*member // in the order in which they came
	primary *member
}

// member is a node that makes an object, has it, or wants it.
type member struct {
	node   Node
	making bool
	whole  bool
	from   *member   // from which it pulls
	more   []*member // whole members from which it pulls, too
	left   []Node    // that it was told to pull from, too, and that have gone meanwhile: perhaps it still waits for them
	load   int       // how many pull from it
	asks   []uint64  // its questions that are not answered
	avoid  []Node    // from which it could not read
}

// bound returns how many pullers a member of the entry may serve.
func (e *entry) bound() int {
	if e.size > largeFrom {
		return fewServed
	}
	return manyServed
}

// member returns the node's member, nil if there is none.
func (e *entry) member(n Node) *member {
	for _, m := range e.members {
		if m.node == n {
			return m
		}
	}
	return nil
}

// enter returns the node's member, and makes one if there is none.
func (e *entry) enter(n Node) *member {
	if m := e.member(n); m != nil {
		return m
	}
	m := &member{node: n}
	e.members = append(e.members, m)
	return m
}

// leave takes a member out. Those that pull from no other one will say that they failed.
func (e *entry) leave(m *member) {
	m.detach()
	for _, x := range e.members {
		x.without(m)
	}
	e.members = slices.DeleteFunc(e.members, func(x *member) bool { return x == m })
}

// detach ends the pull of a member.
func (m *member) detach() {
	if m.from != nil {
		m.from.load--
		m.from = nil
	}
	m.detachMore()
	m.left = nil
}

// feeds reports whether what m has comes from a whole member, and not from p.
func (m *member) feeds(p *member) bool {
	for x := m; x != nil; x = x.from {
		switch {
		case x == p:
			return false
		case x.whole:
			return true
		case slices.Contains(x.left, p.node): // p was gone, and comes back to pull: the two would wait for each other
			return false
		}
	}
	return false
}

// choose returns the member from which p is to pull. It returns nil when p has to wait.
func (e *entry) choose(p *member) (best *member) {
	some := false
	for _, m := range e.members {
		if !m.feeds(p) || slices.Contains(p.avoid, m.node) {
			continue
		}
		some = true
		if m.load < e.bound() && (best == nil || m.whole && (!best.whole || m.load < best.load)) {
			best = m
		}
	}
	if !some && len(p.avoid) > 0 { // it has failed with all of them
		p.avoid = nil
		return e.choose(p)
	}
	return best
}

// oldestWhole returns the member that has had the object for the longest time, nil if none has it.
func (e *entry) oldestWhole() *member {
	for _, m := range e.members {
		if m.whole {
			return m
		}
	}
	return nil
}
