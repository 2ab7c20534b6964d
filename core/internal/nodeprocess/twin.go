package nodeprocess

import (
	"context"
	"fmt"

	"github.com/eagleray/eagleray/core/record"
)

// warnings logs and returns what about the node may surprise: a head of another release, and another node of its name.
func (m *member) warnings(ctx context.Context, self record.Node) (texts []string) {
	for _, text := range []string{m.warning, m.warnOfTwin(ctx, self)} {
		if text != "" {
			m.log.Warn(text)
			texts = append(texts, text)
		}
	}
	return texts
}

// warnOfTwin returns a warning if another living node has the name that this node was given; empty: none has. Nodes without
// a given name are called by their address, which several nodes of one machine share.
func (m *member) warnOfTwin(ctx context.Context, self record.Node) string {
	if self.Name == self.Address {
		return ""
	}
	list, err := m.head.Nodes(ctx)
	if err != nil {
		m.log.Warn("whether another node has the same name is not known", "error", err)
		return ""
	}
	return twinOf(list, self)
}

// twinOf says which of the nodes lives and has the name of another node.
func twinOf(list []record.Node, self record.Node) string {
	for _, n := range list {
		if n.Name == self.Name && n.ID != self.ID && n.State == record.NodeAlive {
			return fmt.Sprintf("two nodes of the cluster are called %q: node %s at %s, and this one, node %s at %s. Both work; give one another --node-name to tell them apart",
				self.Name, n.ID.String()[:8], n.Address, self.ID.String()[:8], self.Address)
		}
	}
	return ""
}
