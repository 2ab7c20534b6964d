package store

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// checkArena looks at every block: they cover the arena in order, free ones
// never touch, and the trees have exactly the free ones, sorted and in shape.
func checkArena(a *Arena) error {
	next, warm, largest := uint64(0), uint64(0), uint64(0)
	free := map[tree]int{}
	var before *block
	for b := a.first; b != nil; before, b = b, b.next {
		if b.off != next || b.size == 0 || b.size%pageSize != 0 || b.prev != before {
			return fmt.Errorf("block %d+%d after %d", b.off, b.size, next)
		}
		next += b.size
		if (a.used[b.off] == b) != b.inUse {
			return fmt.Errorf("block %d+%d: in use %v, but handed out %v", b.off, b.size, b.inUse, !b.inUse)
		}
		if b.inUse {
			continue
		}
		if before != nil && !before.inUse {
			return fmt.Errorf("free blocks %d+%d and %d+%d touch", before.off, before.size, b.off, b.size)
		}
		if b.warm > b.reach || b.reach > b.size || (b.tick == 0) != (b.reach == 0) && b.reach > 0 {
			return fmt.Errorf("block %d+%d: warm %d, reach %d, tick %d", b.off, b.size, b.warm, b.reach, b.tick)
		}
		warm, largest = warm+b.warm, max(largest, b.size)
		free[tree{which: bySize}]++
		if b.warm > 0 {
			free[tree{which: byWarm}]++
		}
	}
	if next != a.capacity {
		return fmt.Errorf("the blocks end at %d of %d", next, a.capacity)
	}
	if s := a.Stats(); s.FreeWarm != warm || s.LargestFree != largest || s.Peak < s.Used {
		return fmt.Errorf("stats %+v: warm %d, largest %d", s, warm, largest)
	}
	for _, t := range []*tree{&a.free, &a.warm} {
		var last *block
		n, wrong := 0, error(nil)
		t.descend(t.root, func(b *block) bool {
			if last != nil && !t.less(b, last) {
				wrong = fmt.Errorf("tree %d: block %d before %d", t.which, last.off, b.off)
			}
			for _, below := range []*block{b.links[t.which].left, b.links[t.which].right} {
				if below != nil && below.links[t.which].priority > b.links[t.which].priority {
					wrong = fmt.Errorf("tree %d: block %d is above %d, which comes before it", t.which, b.off, below.off)
				}
			}
			n, last = n+1, b
			return true
		})
		if wrong != nil || n != free[tree{which: t.which}] {
			return fmt.Errorf("tree %d has %d of %d blocks: %w", t.which, n, free[tree{which: t.which}], wrong)
		}
	}
	return nil
}

// best looks at every free block for the one that Alloc promises: among those
// whose length suffices the shortest, then the one freed last, then the first.
func best(a *Arena, size uint64, length func(*block) uint64) (found *block) {
	for b := a.first; b != nil; b = b.next {
		if b.inUse || length(b) < size {
			continue
		}
		if found == nil || length(b) < length(found) || length(b) == length(found) && b.tick > found.tick {
			found = b
		}
	}
	return found
}

// Which range is handed out, and which is idle, follows from what is free.
func TestArena_RandomSequences_TakesTheRangeThatItPromises(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 7))
		a := NewArena(400 * pageSize)
		var held []uint64
		for step := range 500 {
			switch k := rng.IntN(10); {
			case k < 5:
				size := uint64(1+rng.IntN(1+rng.IntN(40))) * pageSize
				want := best(a, size, func(b *block) uint64 { return b.warm })
				if want == nil {
					want = best(a, size, func(b *block) uint64 { return b.size })
				}
				wanted := uint64(math.MaxUint64)
				if want != nil {
					wanted = want.off
				}
				off, ok := a.Alloc(size)
				if ok != (want != nil) || ok && off != wanted {
					t.Fatalf("seed %d, step %d: %d bytes at %d, %v, want %d", seed, step, size, off, ok, wanted)
				}
				if ok {
					held = append(held, off)
				}
			case k < 9 && len(held) > 0:
				i := rng.IntN(len(held))
				give := a.Free
				if k == 8 {
					give = a.FreeCold
				}
				if err := give(held[i]); err != nil {
					t.Fatal(err)
				}
				held = append(held[:i], held[i+1:]...)
			case k == 9:
				since, most := rng.Uint64N(a.Ticks()+2), uint64(rng.IntN(20*pageSize))
				longest := uint64(0) // of those that have been free for so long
				ends := map[uint64]*block{}
				for b := a.first; b != nil; b = b.next {
					if !b.inUse && b.tick <= since && b.reach > 0 {
						longest = max(longest, b.size)
						ends[b.off+b.reach] = &block{off: b.off, size: b.size, reach: b.reach}
					}
				}
				off, size, ok := a.TakeIdle(since, most)
				if ok != (longest > 0 && most >= pageSize) {
					t.Fatalf("seed %d, step %d: idle since %d, at most %d: %v, longest %d", seed, step, since, most, ok, longest)
				}
				if b := ends[off+size]; ok && (b == nil || b.size != longest || size != min(b.reach, most&^(pageSize-1))) {
					t.Fatalf("seed %d, step %d: idle since %d, at most %d: %d+%d of %+v", seed, step, since, most, off, size, b)
				}
				if ok {
					held = append(held, off)
				}
			}
			if err := checkArena(a); err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, step, err)
			}
		}
	}
}

// Of all neighbours that together have room, a window takes those that cost
// least; the free ones among them are handed out as far as they are needed.
func TestArena_Window_CostsLeast(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 8))
		a := NewArena(120 * pageSize)
		var held []uint64
		for {
			off, ok := a.Alloc(uint64(1+rng.IntN(5)) * pageSize)
			if !ok {
				break
			}
			held = append(held, off)
		}
		for _, off := range held {
			if rng.IntN(3) == 0 {
				if err := a.Free(off); err != nil {
					t.Fatal(err)
				}
			}
		}
		prices := map[uint64]uint64{} // of ranges in use; those without a price stay
		for b := a.first; b != nil; b = b.next {
			if b.inUse && rng.IntN(8) > 0 {
				prices[b.off] = uint64(rng.IntN(20))
			}
		}
		size := uint64(1+rng.IntN(30)) * pageSize
		least, found := uint64(math.MaxUint64), false
		for from := a.first; from != nil; from = from.next {
			have, sum := uint64(0), uint64(0)
			for b := from; b != nil && have < size; b = b.next {
				price, can := prices[b.off]
				if b.inUse && !can {
					break
				}
				if b.inUse {
					sum += price
				}
				have += b.size
			}
			if have >= size && sum < least {
				least, found = sum, true
			}
		}
		pieces, ok := a.Window(size-uint64(rng.IntN(pageSize)), func(off, _ uint64) (uint64, bool) {
			price, can := prices[off]
			return price, can
		})
		if ok != found {
			t.Fatalf("seed %d: found %v, want %v", seed, ok, found)
		}
		if err := checkArena(a); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !ok {
			continue
		}
		have, sum := uint64(0), uint64(0)
		for i, p := range pieces {
			if have >= size || a.used[p.Off] == nil || a.used[p.Off].size != p.Size {
				t.Fatalf("seed %d: piece %d of %+v is too much or not handed out", seed, i, pieces)
			}
			have += p.Size
			if !p.Free {
				sum += prices[p.Off]
			}
		}
		if sum != least || have < size || pieces[len(pieces)-1].Free && have != size {
			t.Fatalf("seed %d: %d bytes for %d, want %d for %d: %+v", seed, have, sum, size, least, pieces)
		}
		if err := a.Merge(pieces[0].Off, size); err != nil {
			t.Fatal(err)
		}
		if err := checkArena(a); err != nil || a.used[pieces[0].Off].size != size {
			t.Fatalf("seed %d: merged: %v", seed, err)
		}
	}
}
