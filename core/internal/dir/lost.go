package dir

import "github.com/eagleray/eagleray/core/ids"

// maxLost is how many objects that were lost with their node are remembered.
const maxLost = 10_000

// lostObjects remembers with which node objects were lost, for the errors of those who want them.
type lostObjects struct {
	nodes map[ids.Object]Node
	order []ids.Object // from the oldest; some may be forgotten already
}

func (l *lostObjects) add(id ids.Object, n Node) {
	if l.nodes == nil {
		l.nodes = make(map[ids.Object]Node)
	}
	for len(l.order) >= maxLost {
		delete(l.nodes, l.order[0])
		l.order = l.order[1:]
	}
	l.nodes[id] = n
	l.order = append(l.order, id)
}

func (l *lostObjects) forget(id ids.Object) {
	if delete(l.nodes, id); len(l.nodes) == 0 {
		l.order = nil
	}
}

// ownerGone forgets the objects of a process.
func (l *lostObjects) ownerGone(o ids.Owner) {
	for id := range l.nodes {
		if id.Owner() == o {
			l.forget(id)
		}
	}
}
