package pulls

import "github.com/eagleray/eagleray/core/internal/dir"

// NodeGone says that a node is dead. What its processes owned is freed. What was being read from it is read from another node.
func (p *Pulls) NodeGone(node uint32) {
	p.conns.drop(node)
	p.locked(func() {
		for ask, q := range p.asks {
			if q.from == node {
				delete(p.asks, ask)
			}
		}
		p.dir.NodeGone(dir.Node(node))
		var ends []*pull
		for _, x := range p.pulls {
			if x.id.Owner().Node() == node {
				ends = append(ends, x)
			}
			x.cut(node)
		}
		for _, x := range ends {
			x.placed = false
			x.end(ownerGone(x.id))
		}
		for id := range p.held {
			if id.Owner().Node() == node {
				p.free(id, 0)
			}
		}
		p.flush()
	})
}
