package pulls

import (
	"cmp"
	"slices"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/dir"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// bytesOn is how many bytes of arguments a node holds.
type bytesOn struct {
	node  dir.Node
	bytes uint64
}

// Near returns the numbers of the nodes that hold the arguments which a process names in a want, those with the most bytes first, at most so many. Of
// nodes with as many bytes this node comes first. Of an object whose owner is on another node only what this node's store has is known: there the word of the
// process counts, and without it the owner's node, for what a program puts lies there.
func (p *Pulls) Near(w *wire.LeaseWant, most int) (nodes []uint32) {
	if p.o.Network == nil {
		return nil
	}
	var on []bytesOn
	for i, raw := range w.Large[:min(len(w.Large), wire.MaxLarge)] {
		id, err := ids.ParseObject(raw)
		if err != nil {
			continue
		}
		said, size := dir.Node(0), uint64(1)
		if i < len(w.Homes) {
			said = dir.Node(w.Homes[i])
		}
		if i < len(w.Sizes) {
			size = w.Sizes[i]
		}
		for _, n := range p.nodesWith(id, said) {
			k := slices.IndexFunc(on, func(x bytesOn) bool { return x.node == n })
			if k < 0 {
				k = len(on)
				on = append(on, bytesOn{node: n})
			}
			on[k].bytes += min(size, ^uint64(0)-on[k].bytes) // the process says it
		}
	}
	own := dir.Node(p.o.Node)
	slices.SortStableFunc(on, func(a, b bytesOn) int {
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), first(a.node == own, b.node == own))
	})
	for _, x := range on[:min(most, len(on))] {
		nodes = append(nodes, uint32(x.node))
	}
	return nodes
}

// first compares two that are alike but for what is true of one of them, which comes first.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// nodesWith returns the nodes that hold an object, as far as is known here, each once. Said is the node that the process names, 0 for none.
func (p *Pulls) nodesWith(id ids.Object, said dir.Node) (nodes []dir.Node) {
	own := dir.Node(p.o.Node)
	has := p.o.Store.Has(id)
	if has {
		nodes = append(nodes, own)
	}
	add := func(n dir.Node) {
		if !slices.Contains(nodes, n) {
			nodes = append(nodes, n)
		}
	}
	if p.here(id) {
		list, _ := p.dir.Holders(id)
		for _, n := range list {
			add(n)
		}
		if n, known := p.dir.Holder(id); known && len(list) == 0 { // it makes the object: who has heard that it is ready may ask before
			add(n)
		}
		return nodes
	}
	switch owner := dir.Node(id.Owner().Node()); {
	case said != 0 && said != own:
		add(said)
	case !has:
		add(owner)
	}
	return nodes
}
