package dir

import "slices"

// Bounds of how many members one puller reads from.
const (
	mostHolders = 4
	holderPart  = 8 << 20 // one for each so many bytes of the object
)

// addMore lets a puller of a whole member read from other whole members, too. It takes only those that serve nobody, so
// that pullers which come later find a place.
func (e *entry) addMore(p *member) {
	if !p.from.whole {
		return
	}
	most := min(mostHolders, (e.size+holderPart-1)/holderPart)
	for _, m := range e.members {
		if uint64(len(p.more)+1) >= most {
			return
		}
		if m.whole && m.load == 0 && m != p && !slices.Contains(p.avoid, m.node) {
			m.load++
			p.more = append(p.more, m)
		}
	}
}

// holders returns the nodes from which a member pulls.
func (m *member) holders() []Node {
	list := []Node{m.from.node}
	for _, x := range m.more {
		list = append(list, x.node)
	}
	return list
}

// detachMore ends what a member pulls from further members.
func (m *member) detachMore() {
	for _, x := range m.more {
		x.load--
	}
	m.more = nil
}

// without notes that a member from which m perhaps pulls is taken out.
func (m *member) without(gone *member) {
	if m.from == gone || slices.Contains(m.more, gone) {
		m.left = append(m.left, gone.node)
	}
	m.more = slices.DeleteFunc(m.more, func(x *member) bool { return x == gone })
	if m.from != gone {
		return
	}
	m.from = nil
	if len(m.more) > 0 {
		m.from, m.more = m.more[0], m.more[1:]
	}
}
