package raftstate

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// Against a map and a list: requests of several clients, out of order, many times the limit.
func TestResults_RandomRequests_AsInAMap(t *testing.T) {
	for seed := range uint64(30) {
		d := rand.New(rand.NewPCG(seed, 1))
		limit := 1 + d.IntN(40)
		r := results{limit: limit}
		known := map[RequestID]Result{}
		var order []RequestID
		var next [3]uint64
		for i := range 2000 {
			c := d.IntN(len(next))
			next[c] += uint64(d.IntN(3))
			id := RequestID{Client{byte(c)}, next[c] + uint64(d.IntN(5))*uint64(d.IntN(1<<20))}
			got, ok := r.find(id)
			if want, there := known[id]; ok != there || got != want {
				t.Fatalf("seed %d: step %d: %v %v, want %v %v", seed, i, got, ok, want, there)
			}
			if ok {
				continue
			}
			known[id], order = Result{Index: uint64(i)}, append(order, id)
			old, full := r.add(id, known[id])
			if full != (len(order) > limit) || full && old != order[0] {
				t.Fatalf("seed %d: step %d: %v was forgotten (%v), %d are kept", seed, i, old, full, len(order))
			}
			if full {
				delete(known, old)
				order = order[1:]
			}
			if d.IntN(100) == 0 {
				r = r.clone()
			}
		}
		var seen []RequestID
		for id := range r.all() {
			seen = append(seen, id)
		}
		if !slices.Equal(seen, order) {
			t.Fatalf("seed %d: the order is %v, want %v", seed, seen, order)
		}
	}
}

// What is remembered of requests takes the same memory after ten thousand of them as after a hundred thousand.
func TestDedup_ManyRequests_NoMoreMemory(t *testing.T) {
	d := newDedup()
	d.results = results{limit: singleKeptResults}
	live := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	n := uint64(0)
	until := func(last uint64) int64 {
		for ; n < last; n++ {
			d.keep(RequestID{Client{1}, n + 1}, Result{Index: n})
		}
		return live()
	}
	first := until(10_000)
	if grown := until(200_000) - first; grown > 64<<10 {
		t.Errorf("%d bytes more", grown)
	}
	runtime.KeepAlive(&d)
}
