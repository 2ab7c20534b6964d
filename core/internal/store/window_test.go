package store

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestArena_Window_TakesTheCheapestNeighbours(t *testing.T) {
	a := NewArena(16 * pageSize)
	var offs []uint64
	for range 16 {
		off, ok := a.Alloc(pageSize)
		if !ok {
			t.Fatal("no room")
		}
		offs = append(offs, off)
	}
	slices.Sort(offs)
	for _, i := range []int{3, 9, 10} {
		if err := a.Free(offs[i]); err != nil {
			t.Fatal(err)
		}
	}
	fixed := map[uint64]bool{offs[8]: true} // pages 9 to 12 have two to move, no other four have fewer
	pieces, ok := a.Window(4*pageSize, func(off, size uint64) (uint64, bool) { return size, !fixed[off] })
	if !ok || pieces[0].Off != offs[9] || !pieces[0].Free || pieces[len(pieces)-1].Off != offs[12] || pieces[len(pieces)-1].Free {
		t.Fatalf("%+v %v", pieces, ok)
	}
	if _, ok := a.Alloc(2 * pageSize); ok {
		t.Error("somebody else got a free part of the window")
	}
	if err := a.Merge(offs[9], 3*pageSize); err != nil {
		t.Fatal(err)
	}
	if off, ok := a.Alloc(pageSize); !ok || off != offs[3] && off != offs[12] {
		t.Errorf("what the window did not need is not free: %d, %v", off, ok)
	}
	if err := a.Free(offs[9]); err != nil {
		t.Error(err)
	}
	if _, ok := a.Window(17*pageSize, func(uint64, uint64) (uint64, bool) { return 0, true }); ok {
		t.Error("a window larger than the arena")
	}
	if _, ok := a.Window(4*pageSize, func(uint64, uint64) (uint64, bool) { return 0, false }); ok {
		t.Error("a window over what cannot leave")
	}
	if a.Merge(offs[3]+1, pageSize) == nil {
		t.Error("merged what is not there")
	}
}

// TestArena_RandomWindows: windows among random ranges leave an arena that adds up.
func TestArena_RandomWindows(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 5))
		a := NewArena(256 * pageSize)
		used := map[uint64]bool{}
		for range 400 {
			if size := uint64(1+r.IntN(8)) * pageSize; r.IntN(3) > 0 {
				if off, ok := a.Alloc(size); ok {
					used[off] = true
				}
				continue
			}
			for off := range used {
				if r.IntN(2) == 0 {
					if err := a.Free(off); err != nil {
						t.Fatal(err)
					}
					delete(used, off)
				}
				break
			}
			if r.IntN(4) > 0 {
				continue
			}
			size := uint64(1+r.IntN(60)) * pageSize
			pieces, ok := a.Window(size, func(_, size uint64) (uint64, bool) { return size, r.IntN(8) > 0 })
			if !ok {
				continue
			}
			sum, next := uint64(0), pieces[0].Off
			for _, p := range pieces {
				if p.Off != next || p.Free == used[p.Off] {
					t.Fatalf("seed %d: %+v", seed, pieces)
				}
				next, sum = p.Off+p.Size, sum+p.Size
				delete(used, p.Off)
			}
			if sum < size {
				t.Fatalf("seed %d: %d of %d bytes", seed, sum, size)
			}
			if err := a.Merge(pieces[0].Off, size); err != nil {
				t.Fatal(err)
			}
			used[pieces[0].Off] = true
		}
		for off := range used {
			if err := a.Free(off); err != nil {
				t.Fatal(err)
			}
		}
		if s := a.Stats(); s.Used != 0 || s.LargestFree != s.Capacity {
			t.Errorf("seed %d: %+v", seed, s)
		}
	}
}
