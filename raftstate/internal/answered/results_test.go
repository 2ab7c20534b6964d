package answered

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// Against a map: requests out of order, drops of any number of them.
func TestResults_RandomRequests_AsInAMap(t *testing.T) {
	for seed := range uint64(50) {
		d := rand.New(rand.NewPCG(seed, 1))
		var r results[int]
		known := map[uint64]int{}
		next, below := uint64(1), uint64(0)
		for i := range 3000 {
			seq := max(below, next-min(next-1, uint64(d.IntN(9)))) + uint64(d.IntN(3))
			next = max(next, seq)
			got, ok := r.find(seq)
			if want, there := known[seq]; ok != there || got != want {
				t.Fatalf("seed %d: step %d: %v %v, want %v %v", seed, i, got, ok, want, there)
			}
			if !ok {
				known[seq] = i
				r.add(seq, known[seq])
			}
			if d.IntN(40) == 0 || d.IntN(4) == 0 && seed%2 == 0 {
				below += uint64(d.Int64N(int64(next-below) + 1))
				before := len(known)
				maps.DeleteFunc(known, func(seq uint64, _ int) bool { return seq < below })
				if n := r.drop(below); n != before-len(known) {
					t.Fatalf("seed %d: step %d: %d were dropped, want %d", seed, i, n, before-len(known))
				}
			}
			var seen []uint64
			for _, x := range r.list {
				seen = append(seen, x.seq)
			}
			if want := slices.Sorted(maps.Keys(known)); !slices.Equal(seen, want) || r.len() != len(want) {
				t.Fatalf("seed %d: step %d: there are %v, want %v", seed, i, seen, want)
			}
			if r.gone > max(smallRoom, r.len()) {
				t.Fatalf("seed %d: step %d: the room of %d is left for %d results", seed, i, r.gone, r.len())
			}
		}
	}
}
