package pulls

import (
	"slices"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/dir"
)

// Near returns the numbers of nodes that hold objects, in the order of the objects. Of an object whose owner is on another
// node only what this node's store has is known. The owner's node is named then: what a program puts lies there.
func (p *Pulls) Near(list [][]byte) (nodes []uint32) {
	if p.o.Network == nil {
		return nil
	}
	for _, raw := range list {
		id, err := ids.ParseObject(raw)
		if err != nil {
			continue
		}
		node := dir.Node(id.Owner().Node())
		if p.o.Store.Has(id) {
			node = dir.Node(p.o.Node)
		} else if p.here(id) {
			n, known := p.dir.Holder(id)
			if !known {
				continue
			}
			node = n
		}
		if !slices.Contains(nodes, uint32(node)) {
			nodes = append(nodes, uint32(node))
		}
	}
	return nodes
}
