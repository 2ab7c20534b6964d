package packing

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/eagleray/eagleray/core/internal/resource"
)

// Strategy says which bundles of a group should, or have to, be on one node.
type Strategy int

// The strategies.
const (
	Pack         Strategy = iota // on as few nodes as possible
	Spread                       // on as many nodes as possible
	StrictPack                   // on one node
	StrictSpread                 // each on a node of its own
)

var texts = [...]string{"PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"}

// Parse reads the text of a strategy.
func Parse(text string) (Strategy, error) {
	i := slices.Index(texts[:], text)
	if i < 0 {
		return 0, fmt.Errorf("placement strategy %.100q is not known: PACK, SPREAD, STRICT_PACK and STRICT_SPREAD are", text)
	}
	return Strategy(i), nil
}

// String is the text of the strategy.
func (s Strategy) String() string { return texts[s] }

// Node is a node as packing sees it.
type Node struct {
	Ledger *resource.Ledger // what is free there
	Here   int              // how many bundles of the group it has already
	Load   float64          // how much of it is used, from 0 to 1
	Spare  bool             // it is used only when others have no room: it has accelerators, and the bundles need none
}

// Bundle is a bundle for which a node is wanted.
type Bundle struct {
	Need resource.Set
	// On reports whether the bundle may be on a node; nil: on each.
	On func(node int) bool
}

func (b *Bundle) on(node int) bool { return b.On == nil || b.On(node) }

// effort bounds the search that follows a greedy one: how many allocations it tries.
const effort = 2000

// Choose returns the index of a node for each bundle, and false if there is no room for all of them. PACK and SPREAD may miss a way in which
// many bundles fit whose needs differ much.
func Choose(s Strategy, bundles []Bundle, nodes []Node) ([]int, bool) {
	t := newTry(s, bundles, nodes)
	defer t.undo()
	switch s {
	case StrictPack:
		return t.result(t.onOne())
	case StrictSpread:
		return t.match()
	case Pack:
		if t.onOne() || t.pack() {
			return t.result(true)
		}
	case Spread:
		if t.spread() {
			return t.result(true)
		}
	}
	t.undo()
	t.left = effort
	return t.result(t.search(0))
}

// Order returns the order in which Choose puts the bundles on nodes: those that are hard to place come first. Ledgers as Choose has seen them have room for what
// it has chosen when they take the bundles in this order. In another order the parts of devices may lie otherwise, and not suffice.
func Order(bundles []Bundle, nodes []Node) []int { return newTry(Pack, bundles, nodes).order }

// Could reports whether the nodes could have all bundles if everything were free there.
func Could(s Strategy, bundles []Bundle, nodes []Node) bool {
	idle := slices.Clone(nodes)
	for i, n := range nodes {
		idle[i].Ledger = n.Ledger.Idle()
	}
	_, ok := Choose(s, bundles, idle)
	return ok
}

// try is an attempt.
type try struct {
	strategy Strategy
	bundles  []Bundle
	nodes    []Node
	order    []int // of the bundles: those that are hard to place first
	prefer   []int // of the nodes: the best first
	to       []int // the node of each bundle, or -1
	holds    []*resource.Allocation
	count    []int // bundles of the group by node
	left     int   // of the effort
}

func newTry(s Strategy, bundles []Bundle, nodes []Node) *try {
	t := &try{strategy: s, bundles: bundles, nodes: nodes, to: make([]int, len(bundles)), holds: make([]*resource.Allocation, len(bundles)), count: make([]int, len(nodes))}
	for i := range bundles {
		t.to[i] = -1
		t.order = append(t.order, i)
	}
	total := make(resource.Set)
	for i, n := range nodes {
		t.count[i] = n.Here
		t.prefer = append(t.prefer, i)
		total.Add(n.Ledger.Plain())
	}
	weight := make([]float64, len(bundles))
	for i := range bundles {
		for name, a := range bundles[i].Need {
			if a > 0 {
				weight[i] = max(weight[i], float64(a)/float64(max(total[name], 1)))
			}
		}
	}
	slices.SortStableFunc(t.order, func(a, b int) int { return cmp.Compare(weight[b], weight[a]) })
	slices.SortStableFunc(t.prefer, func(a, b int) int { return t.compare(&nodes[a], &nodes[b]) })
	return t
}

// compare puts the node first that is to be used first. PACK fills the fullest nodes, and those that have bundles of the group. SPREAD does the
// opposite.
func (t *try) compare(a, b *Node) int {
	if a.Spare != b.Spare {
		if a.Spare {
			return 1
		}
		return -1
	}
	if t.strategy == Pack || t.strategy == StrictPack {
		return cmp.Or(cmp.Compare(b.Here, a.Here), cmp.Compare(b.Load, a.Load))
	}
	return cmp.Or(cmp.Compare(a.Here, b.Here), cmp.Compare(a.Load, b.Load))
}

// put takes what a bundle needs of a node. It reports whether it could.
func (t *try) put(bundle, node int) bool {
	b := &t.bundles[bundle]
	if !b.on(node) {
		return false
	}
	hold, ok := t.nodes[node].Ledger.Acquire(b.Need)
	if ok {
		t.to[bundle], t.holds[bundle] = node, hold
		t.count[node]++
	}
	return ok
}

// take gives back what put has taken for a bundle.
func (t *try) take(bundle int) {
	node := t.to[bundle]
	t.nodes[node].Ledger.Release(t.holds[bundle])
	t.count[node]--
	t.to[bundle], t.holds[bundle] = -1, nil
}

// undo gives back all that was taken.
func (t *try) undo() {
	for i, node := range t.to {
		if node >= 0 && t.holds[i] != nil {
			t.take(i)
		}
	}
}

// result is the outcome of Choose.
func (t *try) result(ok bool) ([]int, bool) {
	if !ok {
		return nil, false
	}
	return slices.Clone(t.to), true
}

// onOne puts all bundles on one node: the one that has some of the group already, if any has.
func (t *try) onOne() bool {
	held := slices.ContainsFunc(t.nodes, func(n Node) bool { return n.Here > 0 })
	for _, node := range t.prefer {
		if t.strategy == StrictPack && held && t.nodes[node].Here == 0 {
			continue
		}
		if t.putAll(node, t.order) == len(t.order) {
			return true
		}
		t.undo()
	}
	return false
}

// putAll puts those of the bundles on a node that fit, and returns how many did.
func (t *try) putAll(node int, bundles []int) (n int) {
	for _, b := range bundles {
		if t.to[b] < 0 && t.put(b, node) {
			n++
		}
	}
	return n
}

// pack puts as many bundles as fit on the node on which most fit, again and again.
func (t *try) pack() bool {
	for rest := len(t.order); rest > 0; {
		best, most := -1, 0
		for _, node := range t.prefer {
			if n := t.room(node); n > most {
				best, most = node, n
			}
		}
		if best < 0 {
			return false
		}
		rest -= t.putAll(best, t.order)
	}
	return true
}

// room returns how many of the bundles that have no node yet fit a node together.
func (t *try) room(node int) int {
	before := slices.Clone(t.to)
	n := t.putAll(node, t.order)
	for b := range t.to {
		if t.to[b] != before[b] {
			t.take(b)
		}
	}
	return n
}

// spread puts each bundle on the node with the fewest bundles of the group that has room.
func (t *try) spread() bool {
	for _, b := range t.order {
		nodes := slices.Clone(t.prefer)
		slices.SortStableFunc(nodes, func(x, y int) int { return t.count[x] - t.count[y] })
		if !slices.ContainsFunc(nodes, func(node int) bool { return t.put(b, node) }) {
			return false
		}
	}
	return true
}

// search tries nodes for the bundles from the i-th on, with what is left of the effort.
func (t *try) search(i int) bool {
	if i == len(t.order) {
		return true
	}
	b := t.order[i]
	for _, node := range t.prefer {
		if t.left--; t.left < 0 {
			return false
		}
		if t.put(b, node) {
			if t.search(i + 1) {
				return true
			}
			t.take(b)
		}
	}
	return false
}

// match gives each bundle a node of its own (Kuhn's algorithm).
func (t *try) match() ([]int, bool) {
	of := make([]int, len(t.nodes)) // the bundle of each node, or -1
	for i := range of {
		of[i] = -1
	}
	for _, b := range t.order {
		if !t.augment(b, of, make([]bool, len(t.nodes))) {
			return nil, false
		}
	}
	to := make([]int, len(t.bundles))
	for node, b := range of {
		if b >= 0 {
			to[b] = node
		}
	}
	return to, true
}

// augment finds a node for a bundle, and others for the bundles that give way.
func (t *try) augment(b int, of []int, seen []bool) bool {
	for _, node := range t.prefer {
		if seen[node] || t.nodes[node].Here > 0 || !t.bundles[b].on(node) || !t.nodes[node].Ledger.Fits(t.bundles[b].Need) {
			continue
		}
		seen[node] = true
		if of[node] < 0 || t.augment(of[node], of, seen) {
			of[node] = b
			return true
		}
	}
	return false
}
