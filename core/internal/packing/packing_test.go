package packing

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/internal/resource"
)

func cpus(n int64) resource.Set { return resource.Set{resource.CPU: resource.FromInt(n)} }

func gpus(n float64) resource.Set {
	return resource.Set{resource.GPU: resource.Amount(n * float64(resource.Unit))}
}

func node(t testing.TB, totals resource.Set, devices int) Node {
	t.Helper()
	var ids []string
	for i := range devices {
		ids = append(ids, fmt.Sprint(i))
	}
	l, err := resource.NewLedger(totals, map[string][]string{resource.GPU: ids})
	if err != nil {
		t.Fatal(err)
	}
	return Node{Ledger: l}
}

func nodesOf(t testing.TB, counts ...int64) (nodes []Node) {
	for _, n := range counts {
		nodes = append(nodes, node(t, cpus(n), 0))
	}
	return nodes
}

func bundlesOf(counts ...int64) (list []Bundle) {
	for _, n := range counts {
		list = append(list, Bundle{Need: cpus(n)})
	}
	return list
}

func TestChoose_Strategies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		s       Strategy
		bundles []Bundle
		nodes   []Node
		want    []int // nil: no room
	}{
		"pack on one node":                          {Pack, bundlesOf(1, 1), nodesOf(t, 1, 2, 4), []int{1, 1}},
		"pack on few nodes":                         {Pack, bundlesOf(2, 2, 1), nodesOf(t, 1, 4, 1), []int{1, 1, 0}},
		"spread":                                    {Spread, bundlesOf(1, 1, 1), nodesOf(t, 4, 4, 4), []int{0, 1, 2}},
		"spread on fewer nodes than bundles":        {Spread, bundlesOf(1, 1, 1), nodesOf(t, 4, 4), []int{0, 1, 0}},
		"strict pack":                               {StrictPack, bundlesOf(2, 2), nodesOf(t, 3, 4), []int{1, 1}},
		"strict pack without room":                  {StrictPack, bundlesOf(2, 2), nodesOf(t, 3, 3), nil},
		"strict spread":                             {StrictSpread, bundlesOf(1, 3), nodesOf(t, 4, 1), []int{1, 0}},
		"strict spread without a node for each":     {StrictSpread, bundlesOf(1, 1, 1), nodesOf(t, 4, 4), nil},
		"strict spread, the first choice gives way": {StrictSpread, bundlesOf(2, 2, 1), nodesOf(t, 2, 1, 2), []int{2, 0, 1}},
		"nothing fits":                              {Pack, bundlesOf(5), nodesOf(t, 4, 4), nil},
		"no nodes":                                  {Spread, bundlesOf(1), nil, nil},
		"all fit only one way":                      {Pack, bundlesOf(3, 2, 2, 1), nodesOf(t, 4, 4), []int{0, 1, 1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := Choose(c.s, c.bundles, c.nodes)
			if ok != (c.want != nil) || ok && c.s != Pack && !slices.Equal(got, c.want) {
				t.Errorf("%v, %v, want %v", got, ok, c.want)
			}
			if ok && c.s == Pack && distinct(got) != distinct(c.want) {
				t.Errorf("%v is on %d nodes, %d would do: %v", got, distinct(got), distinct(c.want), c.want)
			}
		})
	}
}

func distinct(to []int) int {
	s := slices.Clone(to)
	slices.Sort(s)
	return len(slices.Compact(s))
}

func TestChoose_Devices_AreWhole(t *testing.T) {
	t.Parallel()
	a, b := node(t, cpus(8), 2), node(t, cpus(8), 2)
	half, _ := a.Ledger.Acquire(gpus(0.5))
	bundles := []Bundle{{Need: gpus(2)}, {Need: gpus(1)}}
	if got, ok := Choose(Pack, bundles, []Node{a, b}); !ok || !slices.Equal(got, []int{1, 0}) {
		t.Errorf("%v, %v: only node 1 has two whole devices", got, ok)
	}
	if _, ok := Choose(StrictPack, bundles, []Node{a, b}); ok {
		t.Error("no node has three devices")
	}
	a.Ledger.Release(half)
}

func TestChoose_SparesNodesWithDevices(t *testing.T) {
	t.Parallel()
	a, b := node(t, cpus(8), 2), node(t, cpus(2), 0)
	a.Spare = true
	if got, ok := Choose(Pack, bundlesOf(1, 1), []Node{a, b}); !ok || !slices.Equal(got, []int{1, 1}) {
		t.Errorf("%v, %v", got, ok)
	}
}

func TestChoose_BundlesThatAreThere_Count(t *testing.T) {
	t.Parallel()
	nodes := nodesOf(t, 4, 4, 4)
	nodes[1].Here = 1
	for s, want := range map[Strategy]int{Pack: 1, StrictPack: 1, Spread: 0, StrictSpread: 0} {
		if got, ok := Choose(s, bundlesOf(1), nodes); !ok || got[0] != want {
			t.Errorf("%s: %v, want node %d", s, got, want)
		}
	}
	nodes = nodesOf(t, 4)
	nodes[0].Here = 1
	if _, ok := Choose(StrictSpread, bundlesOf(1), nodes); ok {
		t.Error("the only node has a bundle of the group already")
	}
}

func TestChoose_BundlesThatMayNotBeEverywhere(t *testing.T) {
	t.Parallel()
	only := func(n int) func(int) bool { return func(node int) bool { return node == n } }
	for _, s := range []Strategy{Pack, Spread, StrictSpread} {
		bundles := []Bundle{{Need: cpus(1)}, {Need: cpus(1), On: only(0)}}
		got, ok := Choose(s, bundles, nodesOf(t, 1, 1))
		if !ok || !slices.Equal(got, []int{1, 0}) {
			t.Errorf("%s: %v, %v", s, got, ok)
		}
	}
	if _, ok := Choose(StrictPack, []Bundle{{Need: cpus(1), On: only(1)}, {Need: cpus(1), On: only(0)}}, nodesOf(t, 4, 4)); ok {
		t.Error("no node may have both")
	}
}

func TestCould_CountsWhatIsTaken(t *testing.T) {
	t.Parallel()
	nodes := nodesOf(t, 4, 4)
	nodes[0].Ledger.Acquire(cpus(3))
	if _, ok := Choose(StrictSpread, bundlesOf(2, 2), nodes); ok {
		t.Error("there is no room now")
	}
	if !Could(StrictSpread, bundlesOf(2, 2), nodes) || Could(StrictSpread, bundlesOf(2, 5), nodes) || Could(StrictSpread, bundlesOf(1, 1, 1), nodes) {
		t.Error("two nodes could have 4 CPUs each")
	}
	if free := nodes[0].Ledger.Free(); free[resource.CPU] != resource.FromInt(1) {
		t.Errorf("a look has taken something: %s", free)
	}
}

// TestChoose_RandomWorlds_AgreeWithATryOfAllWays compares with all ways in which bundles can be on nodes.
func TestChoose_RandomWorlds_AgreeWithATryOfAllWays(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 3))
		var nodes []Node
		for range 1 + r.IntN(4) {
			n := node(t, cpus(int64(1+r.IntN(5))), r.IntN(3))
			n.Ledger.Acquire(gpus(float64(r.IntN(3)) / 4))
			n.Load = n.Ledger.Load()
			nodes = append(nodes, n)
		}
		var bundles []Bundle
		for range 1 + r.IntN(4) {
			need := cpus(int64(r.IntN(4)))
			need[resource.GPU] = []resource.Amount{0, 0, resource.Unit / 2, resource.Unit}[r.IntN(4)]
			bundles = append(bundles, Bundle{Need: need})
		}
		s := Strategy(r.IntN(4))
		var before []resource.Stock
		for _, n := range nodes {
			before = append(before, n.Ledger.Stock())
		}
		got, ok := Choose(s, bundles, nodes)
		for i, n := range nodes {
			if !n.Ledger.Stock().Equal(before[i]) {
				t.Fatalf("seed %d: node %d is not as it was", seed, i)
			}
		}
		if want := someWay(s, bundles, nodes, nil); want != ok {
			t.Fatalf("seed %d: %s finds room: %v, there is room: %v", seed, s, ok, want)
		}
		if ok && !allowed(s, bundles, nodes, got) {
			t.Fatalf("seed %d: %s chooses %v", seed, s, got)
		}
	}
}

// someWay tries all ways.
func someWay(s Strategy, bundles []Bundle, nodes []Node, to []int) bool {
	if len(to) == len(bundles) {
		return allowed(s, bundles, nodes, to)
	}
	for node := range nodes {
		if someWay(s, bundles, nodes, append(slices.Clone(to), node)) {
			return true
		}
	}
	return false
}

// allowed reports whether bundles may be on these nodes.
func allowed(s Strategy, bundles []Bundle, nodes []Node, to []int) bool {
	if s == StrictPack && distinct(to) > 1 || s == StrictSpread && distinct(to) < len(to) {
		return false
	}
	// In which order devices are given out may matter, so the large parts come first.
	order := make([]int, len(bundles))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return int(bundles[b].Need[resource.GPU] - bundles[a].Need[resource.GPU])
	})
	fits := true
	var holds []func()
	for _, b := range order {
		l := nodes[to[b]].Ledger
		a, ok := l.Acquire(bundles[b].Need)
		fits = fits && ok
		if ok {
			holds = append(holds, func() { l.Release(a) })
		}
	}
	for _, undo := range holds {
		undo()
	}
	return fits
}

// A ledger that takes the bundles of a choice in the order that Order gives has room for all of them.
func TestOrder_LedgersTakeBundlesAsChosen(t *testing.T) {
	t.Parallel()
	mattered := 0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 4))
		var nodes []Node
		for range 1 + r.IntN(3) {
			n := node(t, cpus(8), 1+r.IntN(3))
			for range r.IntN(4) {
				n.Ledger.Acquire(gpus(float64(1+r.IntN(8)) / 10))
			}
			nodes = append(nodes, n)
		}
		var bundles []Bundle
		for range 1 + r.IntN(6) {
			bundles = append(bundles, Bundle{Need: gpus(float64(1+r.IntN(10)) / 10)})
		}
		s := Strategy(r.IntN(4))
		to, ok := Choose(s, bundles, nodes)
		if !ok {
			continue
		}
		needs, plain := make([][]resource.Set, len(nodes)), make([][]resource.Set, len(nodes))
		for _, b := range Order(bundles, nodes) {
			needs[to[b]] = append(needs[to[b]], bundles[b].Need)
		}
		for b, n := range to {
			plain[n] = append(plain[n], bundles[b].Need)
		}
		for i, n := range nodes {
			if !n.Ledger.FitsAll(needs[i]) {
				t.Fatalf("seed %d: %s has put %v on node %d, which has no room in that order", seed, s, needs[i], i)
			}
			if !n.Ledger.FitsAll(plain[i]) {
				mattered++
			}
		}
	}
	if mattered == 0 {
		t.Error("the order does not matter in any of the worlds")
	}
}

func TestWhy_SaysWhatIsShortAndWhatToDo(t *testing.T) {
	t.Parallel()
	needs := func(counts ...int64) (list []resource.Set) {
		for _, n := range counts {
			list = append(list, cpus(n))
		}
		return list
	}
	const do = " Ask for less, choose another strategy, or add nodes (eagleray start --address=… --num-cpus=… --resources=…)."
	for name, c := range map[string]struct {
		s     Strategy
		needs []resource.Set
		says  string
	}{
		"one is too large":       {Pack, needs(1, 5), `g can never be placed: bundle 1 needs {"CPU": 5} (CPU: asked 5, the cluster has at most 4).` + do},
		"a name that is nowhere": {Spread, []resource.Set{{"gpu": resource.Unit}}, `g can never be placed: bundle 0 needs {"gpu": 1} (gpu: asked 1, the cluster has none).` + do},
		"too much for one node":  {StrictPack, needs(3, 3), `g can never be placed: all bundles have to be on one node (STRICT_PACK), and together they need {"CPU": 6} (CPU: asked 6, the cluster has at most 4).` + do},
		"too few nodes":          {StrictSpread, needs(1, 1, 1), `g can never be placed: each of its 3 bundles has to be on a node of its own (STRICT_SPREAD), and fewer nodes are alive that could have them.` + do},
		"too much together":      {Spread, needs(4, 4, 4), `g can never be placed: the nodes could not have all bundles together, even if all of them were free.` + do},
	} {
		if got := Why("g", c.s, c.needs, cpus(4), nil); got != c.says {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got, c.says)
		}
	}
	if got := Why("g", Pack, needs(slices.Repeat([]int64{9}, 1000)...), cpus(4), nil); strings.Count(got, "bundle ") != maxNamed {
		t.Errorf("of 1,000 bundles it names %d", strings.Count(got, "bundle "))
	}
}

func TestParse_TextsOfStrategies(t *testing.T) {
	t.Parallel()
	for _, s := range []Strategy{Pack, Spread, StrictPack, StrictSpread} {
		if got, err := Parse(s.String()); err != nil || got != s {
			t.Errorf("%s: %v, %v", s, got, err)
		}
	}
	if _, err := Parse("pack"); err == nil {
		t.Error("strategies are written in capital letters")
	}
}

func BenchmarkChoose(b *testing.B) {
	var counts []int64
	for range 200 {
		counts = append(counts, 8)
	}
	nodes := nodesOf(b, counts...)
	for _, s := range []Strategy{Pack, Spread, StrictPack, StrictSpread} {
		b.Run(s.String(), func(b *testing.B) {
			for b.Loop() {
				if _, ok := Choose(s, bundlesOf(1, 1, 1, 1), nodes); !ok {
					b.Fatal("there is room")
				}
			}
		})
	}
}
