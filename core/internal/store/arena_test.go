package store

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

const mib = 1 << 20

func alloc(t testing.TB, a *Arena, size uint64) uint64 {
	t.Helper()
	off, ok := a.Alloc(size)
	if !ok {
		t.Fatalf("no room for %d bytes: %+v", size, a.Stats())
	}
	return off
}

func free(t testing.TB, a *Arena, offs ...uint64) {
	t.Helper()
	for _, off := range offs {
		if err := a.Free(off); err != nil {
			t.Fatal(err)
		}
	}
}

func TestArena_AnySize_WholePages(t *testing.T) {
	a := NewArena(8*mib + 17)
	for i, size := range []uint64{0, 1, pageSize, pageSize + 1} {
		if off := alloc(t, a, size); off != uint64(i)*pageSize {
			t.Errorf("%d bytes at %d", size, off)
		}
	}
	if s := a.Stats(); s.Used != 5*pageSize || s.Capacity != 8*mib || s.Objects != 4 {
		t.Errorf("stats %+v", s)
	}
}

func TestArena_FreedRange_ReusedBeforeColdOnes(t *testing.T) {
	a := NewArena(64 * mib)
	x, y, z := alloc(t, a, 4*mib), alloc(t, a, 4*mib), alloc(t, a, 4*mib)
	free(t, a, x)
	if got := alloc(t, a, 4*mib); got != x {
		t.Errorf("got %d, want the warm range %d", got, x)
	}
	w := alloc(t, a, 4*mib)
	free(t, a, x)
	free(t, a, z)
	if got := alloc(t, a, 3*mib); got != z {
		t.Errorf("got %d, want the range freed last, %d", got, z)
	}
	free(t, a, w)
	if got := alloc(t, a, 4*mib); got != x {
		t.Errorf("got %d, want the tight warm range %d rather than the one that ends in cold pages, %d", got, x, w)
	}
	_ = y
}

func TestArena_TightColdRange_LosesToALongerWarmOne(t *testing.T) {
	a := NewArena(64 * mib)
	cold, _, warm, _ := alloc(t, a, 2*mib), alloc(t, a, mib), alloc(t, a, 4*mib), alloc(t, a, mib)
	if err := a.FreeCold(cold); err != nil {
		t.Fatal(err)
	}
	free(t, a, warm)
	if got := alloc(t, a, 2*mib); got != warm {
		t.Errorf("got %d, want the warm range %d", got, warm)
	}
}

func TestArena_NeighboursFreed_OneRangeAgain(t *testing.T) {
	a := NewArena(4 * mib)
	var offs []uint64
	for range 4 {
		offs = append(offs, alloc(t, a, mib))
	}
	if _, ok := a.Alloc(1); ok {
		t.Fatal("room in a full arena")
	}
	free(t, a, offs[1], offs[3], offs[2], offs[0])
	if s := a.Stats(); s.LargestFree != 4*mib || s.Used != 0 || s.Peak != 4*mib || s.FreeWarm != 4*mib {
		t.Errorf("stats %+v", s)
	}
	alloc(t, a, 4*mib)
}

func TestArena_WrongOffsetsAndSizes_ErrorNotDamage(t *testing.T) {
	a := NewArena(mib)
	off := alloc(t, a, 1000)
	for _, bad := range []uint64{off + 64, off + 1, mib, math.MaxUint64} {
		if err := a.Free(bad); !errors.Is(err, ErrNotAllocated) {
			t.Errorf("Free(%d): %v", bad, err)
		}
	}
	for _, size := range []uint64{mib + 1, math.MaxUint64, math.MaxUint64 - 4096} {
		if _, ok := a.Alloc(size); ok {
			t.Errorf("%d bytes out of one MiB", size)
		}
	}
	free(t, a, off)
	if err := a.Free(off); !errors.Is(err, ErrNotAllocated) {
		t.Errorf("second free: %v", err)
	}
	if _, ok := NewArena(100).Alloc(0); ok {
		t.Error("a range in an arena without a page")
	}
}

func TestArena_TakeIdle_EachPageOnce(t *testing.T) {
	a := NewArena(8 * mib)
	_, most := alloc(t, a, mib), alloc(t, a, 7*mib)
	before := a.Ticks()
	free(t, a, most)
	if _, _, ok := a.TakeIdle(before, mib); ok {
		t.Error("a range was idle before it was freed")
	}
	now := a.Ticks()
	for range 7 {
		off, size, ok := a.TakeIdle(now, mib)
		if !ok || size != mib {
			t.Fatalf("TakeIdle: %d, %d, %v", off, size, ok)
		}
		if err := a.FreeCold(off); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, ok := a.TakeIdle(math.MaxUint64, mib); ok || a.Stats().FreeWarm != 0 {
		t.Errorf("warm pages left: %+v", a.Stats())
	}
}

// arenaModel keeps one entry per page.
type arenaModel struct {
	owner []uint64 // offset+1 of the range in use, 0 = free
	pages []bool   // may have a page behind it
	sizes map[uint64]uint64
}

func (m *arenaModel) take(off, size uint64) error {
	if off%pageSize != 0 || off/pageSize+size/pageSize > uint64(len(m.owner)) {
		return fmt.Errorf("range %d+%d is misaligned or outside", off, size)
	}
	for i := off / pageSize; i < (off+size)/pageSize; i++ {
		if m.owner[i] != 0 {
			return fmt.Errorf("range %d+%d overlaps the one at %d", off, size, m.owner[i]-1)
		}
		m.owner[i] = off + 1
	}
	m.sizes[off] = size
	return nil
}

func (m *arenaModel) giveBack(off uint64, pages bool) {
	for i := off / pageSize; i < (off+m.sizes[off])/pageSize; i++ {
		m.owner[i], m.pages[i] = 0, pages
	}
	delete(m.sizes, off)
}

func (m *arenaModel) punch(off uint64) { m.giveBack(off, false) }

// fits says whether a free run of size bytes exists.
func (m *arenaModel) fits(size uint64) bool {
	run := uint64(0)
	for _, owner := range m.owner {
		if run += pageSize; owner != 0 {
			run = 0
		}
		if run >= size {
			return true
		}
	}
	return false
}

func (m *arenaModel) used() (n uint64) {
	for _, size := range m.sizes {
		n += size
	}
	return n
}

func TestArena_RandomSequences_NeverOverlapNeverLose(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 5
	}
	for seed := range rounds {
		if err := compareArena(uint64(seed)); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func compareArena(seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 2))
	capacity := (uint64(rng.IntN(200)) + 40) * pageSize
	a := NewArena(capacity)
	m := &arenaModel{make([]uint64, capacity/pageSize), make([]bool, capacity/pageSize), map[uint64]uint64{}}
	var held []uint64
	for step := range 600 {
		if err := arenaStep(rng, a, m, &held); err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
		if s := a.Stats(); s.Used != m.used() || s.Objects != len(m.sizes) || s.FreeWarm > capacity-s.Used {
			return fmt.Errorf("step %d: stats %+v, model used %d", step, s, m.used())
		}
	}
	for {
		off, size, ok := a.TakeIdle(math.MaxUint64, capacity)
		if !ok {
			break
		}
		if err := punchModel(a, m, off, size); err != nil {
			return err
		}
	}
	for i := range m.owner {
		if m.owner[i] == 0 && m.pages[i] {
			return fmt.Errorf("page %d was written, is free and never idle", i)
		}
	}
	for _, off := range held {
		if err := a.Free(off); err != nil {
			return err
		}
	}
	if s := a.Stats(); s.LargestFree != capacity || s.Used != 0 {
		return fmt.Errorf("all freed: %+v", s)
	}
	return nil
}

func arenaStep(rng *rand.Rand, a *Arena, m *arenaModel, held *[]uint64) error {
	switch k := rng.IntN(19); {
	case k < 10:
		size := uint64(rng.IntN(3 * pageSize))
		if k < 5 {
			size = uint64(rng.IntN(80 * pageSize))
		}
		off, ok := a.Alloc(size)
		rounded := wholePages(size)
		if ok != m.fits(rounded) {
			return fmt.Errorf("Alloc(%d) %v, model %v", size, ok, !ok)
		}
		if !ok {
			return nil
		}
		*held = append(*held, off)
		return m.take(off, rounded)
	case k < 18:
		if len(*held) == 0 {
			return nil
		}
		i := rng.IntN(len(*held))
		off := (*held)[i]
		*held = append((*held)[:i], (*held)[i+1:]...)
		if k == 17 {
			m.punch(off)
			return a.FreeCold(off)
		}
		m.giveBack(off, true)
		return a.Free(off)
	default:
		if now := a.Ticks(); now > 0 {
			off, size, ok := a.TakeIdle(now-rng.Uint64N(now), uint64(rng.IntN(20))*pageSize)
			if ok {
				return punchModel(a, m, off, size)
			}
		}
		return nil
	}
}

func punchModel(a *Arena, m *arenaModel, off, size uint64) error {
	if err := m.take(off, size); err != nil {
		return err
	}
	m.punch(off)
	return a.FreeCold(off)
}

func BenchmarkArena_AllocFree(b *testing.B) {
	for _, live := range []int{0, 100, 10000} {
		b.Run(fmt.Sprintf("live=%d", live), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 1))
			a := NewArena(1 << 40)
			held := make([]uint64, live)
			for i := range held {
				held[i] = alloc(b, a, 100000+uint64(rng.IntN(mib)))
			}
			b.ReportAllocs()
			for b.Loop() {
				off := alloc(b, a, 100000+uint64(rng.IntN(mib)))
				if live > 0 {
					i := rng.IntN(live)
					off, held[i] = held[i], off
				}
				free(b, a, off)
			}
		})
	}
}
