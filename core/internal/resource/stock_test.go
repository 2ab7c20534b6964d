package resource

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// worn returns a ledger of which random allocations hold something.
func worn(t *testing.T, r *rand.Rand) *Ledger {
	t.Helper()
	l, err := NewLedger(Set{CPU: 4 * Unit, "x": 2 * Unit, "memory": 100 * Unit}, map[string][]string{GPU: {"a", "b", "c"}, "NPU": {"0", "1"}, "TPU": nil})
	if err != nil {
		t.Fatal(err)
	}
	if r.IntN(2) == 0 {
		if err := l.SetGPUMemory(map[string]int64{"a": 16, "c": 80}); err != nil {
			t.Fatal(err)
		}
	}
	var held []*Allocation
	for range r.IntN(12) {
		if a, ok := l.Acquire(anyNeed(r)); ok {
			held = append(held, a)
		}
		switch i := r.IntN(6); {
		case len(held) == 0:
		case i == 0:
			l.Release(held[r.IntN(len(held))])
		case i < 3:
			l.BlockCPU(held[r.IntN(len(held))])
		case i == 3:
			l.UnblockCPU(held[r.IntN(len(held))])
		}
	}
	return l
}

func anyNeed(r *rand.Rand) Set {
	s := Set{}
	for _, part := range []Set{{CPU: Unit}, {CPU: Unit / 4}, {GPU: Unit / 2}, {GPU: Unit}, {GPU: 2 * Unit}, {GPU: Unit + Unit/2}, {GPUMemory: 10 * Unit}, {GPUMemory: 90 * Unit}, {"NPU": Unit / 4}, {"x": Unit}, {"none": 1}, {"memory": 60 * Unit}} {
		if r.IntN(5) == 0 {
			s.Add(part)
		}
	}
	return s
}

// A ledger that was made of a stock answers as the one whose stock it is, also after both give the same things out.
func TestRestore_AnyLedger_AnswersAlike(t *testing.T) {
	fits, could := 0, 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 9))
		l := worn(t, r)
		c, err := Restore(l.Stock())
		if err != nil {
			t.Fatalf("seed %d: %v of %+v", seed, err, l.Stock())
		}
		for range 30 {
			if !c.Free().Equal(l.Free()) || !c.Totals().Equal(l.Totals()) || !c.Stock().Equal(l.Stock()) {
				t.Fatalf("seed %d: a ledger of %+v has %+v", seed, l.Stock(), c.Stock())
			}
			need := anyNeed(r)
			_, ever := l.CanEver(need)
			if c.Fits(need) != l.Fits(need) || c.Could(need) != ever || l.Could(need) != ever {
				t.Fatalf("seed %d: %s fits %v and %v, could fit %v, %v and %v", seed, need, c.Fits(need), l.Fits(need), c.Could(need), l.Could(need), ever)
			}
			changes, before := l.Changes(), l.Stock()
			_, a := l.Acquire(need)
			if !l.Stock().Equal(before) && l.Changes() == changes {
				t.Fatalf("seed %d: a change is not counted", seed)
			}
			_, b := c.Acquire(need)
			if a != b {
				t.Fatalf("seed %d: %s", seed, need)
			}
			if a {
				fits++
			}
			if ever {
				could++
			}
		}
	}
	if fits < 100 || could < fits {
		t.Errorf("%d needs were given, and %d could be", fits, could)
	}
}

// A stock that no ledger can have is refused, and the error says why.
func TestRestore_ImpossibleStock_IsRefused(t *testing.T) {
	many := Set{}
	for i := range 1001 {
		many[strings.Repeat("x", i+1)] = 1
	}
	gpu := func(d ...DeviceStock) map[string][]DeviceStock { return map[string][]DeviceStock{GPU: d} }
	for want, s := range map[string]Stock{
		"at most 1000 kinds":              {Totals: many},
		"at most 1000 devices GPU":        {Devices: gpu(slices.Repeat([]DeviceStock{{}}, 1001)...)},
		"total of resource x: -0.0001":    {Totals: Set{"x": -1}},
		"is no quantity":                  {Totals: Set{"x": 1 << 62}},
		"2 of resource x are free of 1":   {Totals: Set{"x": Unit}, Free: Set{"x": 2 * Unit}},
		"-1 of resource x are free of 1":  {Totals: Set{"x": Unit}, Free: Set{"x": -Unit}},
		"resource CPU are free of 1":      {Totals: Set{CPU: Unit}, Free: Set{CPU: -1 << 62}},
		"and the node has none":           {Free: Set{"x": Unit}},
		"10001 of 10000 parts":            {Devices: gpu(DeviceStock{Free: Unit + 1})},
		"-1 of 10000 parts":               {Devices: gpu(DeviceStock{Free: -1})},
		"only those of a GPU are counted": {Devices: map[string][]DeviceStock{"NPU": {{Bytes: 5}}}},
		"a node has at most":              {Devices: gpu(DeviceStock{Bytes: MaxBytes}, DeviceStock{Bytes: 1})},
		"must be above 0":                 {Devices: gpu(DeviceStock{Bytes: -1})},
		"it has 1 devices":                {Totals: Set{GPU: 2 * Unit}, Devices: gpu(DeviceStock{})},
	} {
		if _, err := Restore(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	l, err := Restore(Stock{Totals: Set{CPU: Unit}, Free: Set{CPU: -2 * Unit}, Devices: gpu(DeviceStock{Bytes: 100, Free: 50 * Unit})})
	if err != nil || l.Free()[CPU] != -2*Unit || l.Free()[GPU] != Unit/2 || l.Free()[GPUMemory] != 50*Unit {
		t.Errorf("got %v, %v", l, err)
	}
}

// The load is that of the resource of which the largest part is in use.
func TestLoad_IsThatOfTheFullestResource(t *testing.T) {
	l, err := NewLedger(Set{CPU: 4 * Unit, "x": 2 * Unit}, map[string][]string{"NPU": nil})
	if err != nil {
		t.Fatal(err)
	}
	if l.Load() != 0 || l.HasDevices() {
		t.Errorf("of an idle node: %v, devices %v", l.Load(), l.HasDevices())
	}
	for want, need := range map[float64]Set{0.25: {CPU: Unit}, 0.5: {CPU: Unit, "x": Unit}} {
		a, ok := l.Acquire(need)
		if !ok || l.Load() != want {
			t.Errorf("%s in use: %v, want %v", need, l.Load(), want)
		}
		l.Release(a)
	}
	if l, err = NewLedger(nil, map[string][]string{GPU: {"a", "b"}}); err != nil || !l.HasDevices() {
		t.Errorf("devices: %v, %v", l, err)
	}
}
