package resource

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

const gib = int64(1) << 30

func withMemory(t testing.TB, bytes ...int64) *Ledger {
	t.Helper()
	l := newLedger(t, Set{CPU: FromInt(64)}, map[string][]string{GPU: ids(len(bytes))})
	m := make(map[string]int64)
	for i, b := range bytes {
		if b > 0 {
			m[fmt.Sprint(i)] = b
		}
	}
	if err := l.SetGPUMemory(m); err != nil {
		t.Fatal(err)
	}
	return l
}

func bytesOf(n int64) Set { return Set{GPUMemory: FromInt(n)} }

func TestLedger_BytesPackOneDeviceBeforeTheNext(t *testing.T) {
	l := withMemory(t, 24*gib, 24*gib)
	for i := range 6 { // thirds have no exact fraction in 1/10000
		acquire(t, l, bytesOf(8*gib), fmt.Sprint(i/3))
	}
	if l.Fits(bytesOf(1)) || l.Fits(gpu(1)) {
		t.Errorf("something is free of full devices: %s", l.Free())
	}
	if free := l.Free(); free[GPU] != 0 || free[GPUMemory] != 0 {
		t.Errorf("free %s", free)
	}
}

func TestLedger_PartsAndBytes_NeverOverbookTogether(t *testing.T) {
	l := withMemory(t, 40*gib)
	half := acquire(t, l, gpu(5000), "0")
	if l.Fits(bytesOf(20*gib + 1)) {
		t.Error("more than the other half fits beside a half")
	}
	rest := acquire(t, l, bytesOf(20*gib), "0")
	if l.Fits(gpu(1)) || l.Fits(bytesOf(1)) {
		t.Error("a full device gives more")
	}
	l.Release(half)
	if l.Fits(gpu(5001)) || !l.Fits(gpu(5000)) || l.Free()[GPUMemory] != FromInt(20*gib) {
		t.Errorf("beside 20 of 40 GiB: free %s", l.Free())
	}
	if l.Fits(gpu(10000)) {
		t.Error("a whole device of which bytes are used")
	}
	l.Release(rest)
	if !l.Free().Equal(l.Totals()) {
		t.Errorf("free %s of %s", l.Free(), l.Totals())
	}
}

func TestLedger_PartWithBytes_TheLargerCounts(t *testing.T) {
	l := withMemory(t, 40*gib)
	a := acquire(t, l, Set{GPU: 5000, GPUMemory: FromInt(30 * gib)}, "0")
	if got := l.Free(); got[GPU] != 2500 || got[GPUMemory] != FromInt(10*gib) {
		t.Errorf("half and 30 of 40 GiB: free %s", got)
	}
	if f := a.Frees(); f[GPU] != 7500 || f[GPUMemory] != FromInt(30*gib) {
		t.Errorf("it frees %s", f)
	}
	l.Release(a)
	acquire(t, l, Set{GPU: 5000, GPUMemory: FromInt(1)}, "0")
	if got := l.Free()[GPU]; got != 5000 {
		t.Errorf("half and a byte: %s free", got)
	}
}

func TestLedger_WholesWithBytes_DevicesWithSoMuchEach(t *testing.T) {
	l := withMemory(t, 40*gib, 80*gib, 0, 80*gib)
	acquire(t, l, Set{GPU: 20000, GPUMemory: FromInt(80 * gib)}, "1", "3")
	if l.Fits(Set{GPU: 10000, GPUMemory: FromInt(41 * gib)}) {
		t.Error("41 GiB of a device with 40")
	}
	acquire(t, l, gpu(20000), "0", "2")
}

func TestLedger_Bytes_TightestDeviceThatHasSoMany(t *testing.T) {
	l := withMemory(t, 80*gib, 40*gib, 0)
	acquire(t, l, bytesOf(8*gib), "1")
	acquire(t, l, bytesOf(64*gib), "0")
	acquire(t, l, bytesOf(16*gib), "0")
	acquire(t, l, bytesOf(32*gib), "1")
	acquire(t, l, gpu(10000), "2")
}

func TestLedger_CanEver_SaysWhatMemoryThereIs(t *testing.T) {
	for _, c := range []struct {
		l    *Ledger
		need Set
		why  string
	}{
		{withMemory(t, 40*gib, 40*gib), bytesOf(80 * gib), "gpu_memory: asked 80 GiB of one device, the largest has 40 GiB"},
		{withMemory(t, 40*gib, 80*gib), Set{GPU: 20000, GPUMemory: FromInt(41 * gib)}, "gpu_memory: asked 2 devices with 41 GiB each, 1 of 2 have so much"},
		{withMemory(t, 0, 0), bytesOf(gib), "is not known: declare it"},
		{withMemory(t), bytesOf(gib), "gpu_memory: asked 1 GiB, the cluster has no GPU"},
		{withMemory(t, 40*gib), bytesOf(40 * gib), ""},
	} {
		why, ok := c.l.CanEver(c.need)
		// One shortage is told once, though memory also is a resource of the node.
		if !strings.Contains(why, c.why) || ok != (c.why == "") || ok != (why == "") || strings.Contains(why, "; ") {
			t.Errorf("CanEver(%s) = %q, %v; want …%s…", c.need, why, ok, c.why)
		}
	}
}

func TestLedger_SetGPUMemory_WrongAndLate(t *testing.T) {
	l := newLedger(t, nil, map[string][]string{GPU: {"0", "1"}})
	for want, m := range map[string]map[string]int64{
		"no such device": {"7": gib}, "must be above 0": {"0": -1}, "0 bytes, must be above 0": {"1": 0}, "at most": {"0": MaxBytes, "1": 1},
	} {
		if err := l.SetGPUMemory(m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("SetGPUMemory(%v): %v, want …%s…", m, err, want)
		}
	}
	half := acquire(t, l, gpu(5000), "0") // before anybody knew
	if err := l.SetGPUMemory(map[string]int64{"0": 10 * gib, "1": 10 * gib}); err != nil {
		t.Fatal(err)
	}
	if l.Free()[GPUMemory] != FromInt(15*gib) || l.LargestGPU() != 10*gib {
		t.Errorf("free %s", l.Free())
	}
	if err := l.SetGPUMemory(map[string]int64{"0": 11 * gib}); err == nil {
		t.Error("known memory may be changed")
	}
	l.Release(half)
	if !l.Free().Equal(l.Totals()) {
		t.Errorf("free %s of %s", l.Free(), l.Totals())
	}
	if _, err := NewLedger(bytesOf(1), nil); err == nil {
		t.Error("gpu_memory as a plain resource")
	}
}

// memoryModel keeps what was granted and recounts in exact fractions of devices.
type memoryModel struct {
	bytes  []int64 // 0: unknown
	grants []memoryGrant
}

type memoryGrant struct {
	takes map[int]*big.Rat // of a device
	alloc *Allocation
}

func (m *memoryModel) used(i int) *big.Rat {
	sum := new(big.Rat)
	for _, g := range m.grants {
		if r := g.takes[i]; r != nil {
			sum.Add(sum, r)
		}
	}
	return sum
}

// acquire says by the rules in words which devices a request gets, nil for none.
func (m *memoryModel) acquire(need Set) map[int]*big.Rat {
	part, bytes := need[GPU], int64(need[GPUMemory]/Unit)
	if part > Unit && !part.Whole() {
		return nil
	}
	one := big.NewRat(1, 1)
	wants := max(int(part/Unit), 1)
	takes := make(map[int]*big.Rat)
	for range wants {
		best := -1
		var bestFree *big.Rat
		for i, total := range m.bytes {
			if takes[i] != nil || bytes > 0 && total == 0 {
				continue
			}
			r := m.share(part, bytes, total)
			free := new(big.Rat).Sub(one, m.used(i))
			if r.Cmp(free) > 0 {
				continue
			}
			key := free
			switch {
			case part >= Unit:
				key = new(big.Rat) // in order
			case part == 0:
				key = new(big.Rat).Mul(free, big.NewRat(total, 1))
			default: // compared in 1/10000
				units := new(big.Rat).Mul(free, big.NewRat(int64(Unit), 1))
				key = new(big.Rat).SetInt(new(big.Int).Quo(units.Num(), units.Denom()))
			}
			if best < 0 || key.Cmp(bestFree) < 0 {
				best, bestFree = i, key
			}
		}
		if best < 0 {
			return nil
		}
		takes[best] = m.share(part, bytes, m.bytes[best])
	}
	return takes
}

func (m *memoryModel) share(part Amount, bytes, total int64) *big.Rat {
	r := big.NewRat(int64(min(part, Unit)), int64(Unit))
	if bytes > 0 {
		if b := big.NewRat(bytes, total); b.Cmp(r) > 0 {
			r = b
		}
	}
	return r
}

func TestLedger_RandomPartsAndBytes_AgreeWithExactModel(t *testing.T) {
	rounds := 80
	if testing.Short() {
		rounds = 20
	}
	for seed := range rounds {
		rng := rand.New(rand.NewPCG(uint64(seed), 7))
		bytes := make([]int64, 1+rng.IntN(4))
		for i := range bytes {
			bytes[i] = []int64{0, 24 * gib, 40 * gib, 80 * gib, 7, 1 + rng.Int64N(100*gib), 80e9}[rng.IntN(7)]
		}
		l, m := withMemory(t, bytes...), &memoryModel{bytes: bytes}
		for step := range 300 {
			if err := memoryStep(rng, l, m); err != nil {
				t.Fatalf("seed %d, devices %v, step %d: %v", seed, bytes, step, err)
			}
		}
		for _, g := range m.grants {
			l.Release(g.alloc)
		}
		if !l.Free().Equal(l.Totals()) {
			t.Fatalf("seed %d: all released, free %s of %s", seed, l.Free(), l.Totals())
		}
	}
}

func memoryStep(rng *rand.Rand, l *Ledger, m *memoryModel) error {
	if len(m.grants) > 0 && rng.IntN(5) < 2 {
		i := rng.IntN(len(m.grants))
		l.Release(m.grants[i].alloc)
		m.grants = append(m.grants[:i], m.grants[i+1:]...)
		return nil
	}
	need := randomMemoryNeed(rng, m.bytes)
	fits := l.Fits(need)
	a, ok := l.Acquire(need)
	takes := m.acquire(need)
	if ok != (takes != nil) || fits != ok {
		return fmt.Errorf("acquire %s: ledger %v, Fits %v, model %v; free %s", need, ok, fits, takes, l.Free())
	}
	if !ok {
		return nil
	}
	if len(a.Shares()[GPU]) != len(takes) {
		return fmt.Errorf("acquire %s: shares %v, model %v", need, a.Shares(), takes)
	}
	frees := Set{}
	for _, s := range a.Shares()[GPU] {
		i := int(s.ID[0] - '0')
		if takes[i] == nil {
			return fmt.Errorf("acquire %s: shares %v, model %v", need, a.Shares(), takes)
		}
		want := Share{ID: s.ID, Amount: Amount(ceil(takes[i], int64(Unit))), Bytes: ceil(takes[i], m.bytes[i])}
		if s != want {
			return fmt.Errorf("acquire %s: it takes %+v of a device, model %+v", need, s, want)
		}
		frees.Add(Set{GPU: want.Amount, GPUMemory: FromInt(want.Bytes)})
	}
	if f := a.Frees(); !f.Equal(frees) {
		return fmt.Errorf("acquire %s: its end frees %s, model %s", need, f, frees)
	}
	if why, can := l.CanEver(need); !can {
		return fmt.Errorf("acquired %s, which can never fit: %s", need, why)
	}
	m.grants = append(m.grants, memoryGrant{takes, a})
	free := new(big.Rat)
	for i, total := range m.bytes {
		left := new(big.Rat).Sub(big.NewRat(1, 1), m.used(i))
		if left.Sign() < 0 {
			return fmt.Errorf("device %d is overbooked after %s", i, need)
		}
		free.Add(free, left.Mul(left, big.NewRat(total*int64(Unit), 1)))
	}
	if got := new(big.Rat).SetInt64(int64(l.Free()[GPUMemory])); got.Cmp(free) != 0 {
		return fmt.Errorf("after %s free bytes %s, model %s", need, got, free)
	}
	return nil
}

// ceil gives a part of n, rounded up.
func ceil(part *big.Rat, n int64) int64 {
	r := new(big.Rat).Mul(part, big.NewRat(n, 1))
	q, rest := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
	return q.Int64() + int64(rest.Sign())
}

func randomMemoryNeed(rng *rand.Rand, bytes []int64) Set {
	need := Set{}
	if rng.IntN(2) == 0 {
		need[GPU] = []Amount{5000, 2500, 10000, 20000, 15000, 1, 3333, Amount(1 + rng.IntN(10000))}[rng.IntN(8)]
	}
	if need[GPU] == 0 || rng.IntN(3) == 0 {
		total := max(bytes[rng.IntN(len(bytes))], 2)
		need[GPUMemory] = FromInt([]int64{total / 3, total / 2, total, total + 1, 1, 1 + rng.Int64N(total)}[rng.IntN(6)])
	}
	if need.Trim().IsZero() {
		need[GPU] = Unit
	}
	return need
}
