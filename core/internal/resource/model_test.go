package resource

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// model is the ledger as one would write it without caring for speed: it keeps
// every grant and recounts everything from them.
type model struct {
	totals  Set
	devices map[string][]string
	grants  []*grant
}

type grant struct {
	need    Set
	shares  map[string][]Share
	blocked bool
	alloc   *Allocation
}

func (m *model) free() Set {
	f := m.totals.Clone()
	for _, g := range m.grants {
		for name, a := range g.need {
			if name != CPU || !g.blocked {
				f[name] -= a
			}
		}
	}
	return f
}

func (m *model) deviceFree(name, id string) Amount {
	f := Unit
	for _, g := range m.grants {
		for _, s := range g.shares[name] {
			if s.ID == id {
				f -= s.Amount
			}
		}
	}
	return f
}

// acquire grants by the rules in words: wholes from untouched devices in order,
// a fraction from the fullest device that has room, in order among equals.
func (m *model) acquire(need Set) *grant {
	free := m.free()
	g := &grant{need: need.Clone().Trim(), shares: map[string][]Share{}}
	for name, a := range g.need {
		if a > free[name] {
			return nil
		}
		ids, isDevice := m.devices[name]
		if !isDevice {
			continue
		}
		for left := a; left > 0; {
			pick, pickFree, part := "", Amount(0), min(left, Unit)
			for _, id := range ids {
				f := m.deviceFree(name, id)
				if containsShare(g.shares[name], id) || f < part || a > Unit && part < Unit {
					continue
				}
				if pick == "" || f < pickFree {
					pick, pickFree = id, f
				}
			}
			if pick == "" {
				return nil
			}
			g.shares[name] = append(g.shares[name], Share{ID: pick, Amount: part})
			left -= part
		}
	}
	m.grants = append(m.grants, g)
	return g
}

func containsShare(shares []Share, id string) bool {
	for _, s := range shares {
		if s.ID == id {
			return true
		}
	}
	return false
}

func TestLedger_RandomSequences_AgreeWithNaiveModel(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 30
	}
	for seed := range rounds {
		if err := compareWithModel(uint64(seed), 400); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func compareWithModel(seed uint64, steps int) error {
	rng := rand.New(rand.NewPCG(seed, 1))
	devices := map[string][]string{"GPU": ids(rng.IntN(5)), "NPU": ids(rng.IntN(3))}
	totals := Set{CPU: FromInt(rng.Int64N(5)), "memory": FromInt(rng.Int64N(1 << 30)), "x": Amount(rng.IntN(20000))}
	l, err := NewLedger(totals, devices)
	if err != nil {
		return err
	}
	m := &model{totals: l.Totals(), devices: devices}
	for step := range steps {
		if err := randomStep(rng, l, m); err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
		if got, want := l.Free(), m.free(); !got.Equal(want) {
			return fmt.Errorf("step %d: free %s, model %s", step, got, want)
		}
		for name, all := range devices {
			for _, id := range all {
				if f := m.deviceFree(name, id); f < 0 || f > Unit {
					return fmt.Errorf("step %d: %s %s has %s free", step, name, id, f)
				}
			}
		}
	}
	for _, g := range m.grants {
		l.Release(g.alloc)
	}
	if !l.Free().Equal(l.Totals()) {
		return fmt.Errorf("all released: free %s of %s", l.Free(), l.Totals())
	}
	return nil
}

func randomStep(rng *rand.Rand, l *Ledger, m *model) error {
	if len(m.grants) == 0 || rng.IntN(2) == 0 {
		need := randomNeed(rng)
		fits := l.Fits(need)
		a, ok := l.Acquire(need)
		g := m.acquire(need)
		if ok != (g != nil) || fits != ok {
			return fmt.Errorf("acquire %s: ledger %v, Fits %v, model %v; free %s", need, ok, fits, g != nil, l.Free())
		}
		if !ok {
			return nil
		}
		g.alloc = a
		if got, want := fmt.Sprint(a.Shares()), fmt.Sprint(g.shares); got != want {
			return fmt.Errorf("acquire %s: devices %s, model %s", need, got, want)
		}
		if _, can := l.CanEver(need); !can {
			return fmt.Errorf("acquired %s, which can never fit", need)
		}
		if !a.Resources().Equal(need) || a.Blocked() {
			return fmt.Errorf("acquired %s, and it says %s, blocked: %v", need, a.Resources(), a.Blocked())
		}
		if f := a.Frees(); !f.Equal(need) {
			return fmt.Errorf("acquired %s, and its end frees %s", need, f)
		}
		return nil
	}
	i := rng.IntN(len(m.grants))
	g := m.grants[i]
	switch rng.IntN(3) {
	case 0:
		l.BlockCPU(g.alloc)
		g.blocked = true
	case 1:
		l.UnblockCPU(g.alloc)
		g.blocked = false
	default:
		l.Release(g.alloc)
		m.grants = append(m.grants[:i], m.grants[i+1:]...)
	}
	return nil
}

func randomNeed(rng *rand.Rand) Set {
	need := Set{}
	for _, name := range []string{CPU, "GPU", "NPU", "memory", "x"} {
		if rng.IntN(2) == 0 {
			continue
		}
		switch rng.IntN(5) {
		case 0:
			need[name] = FromInt(rng.Int64N(4))
		case 1:
			need[name] = Amount(rng.IntN(4)) * 2500
		case 2:
			need[name] = Amount(rng.IntN(3)) // the smallest there are
		default:
			need[name] = Amount(rng.IntN(int(Unit) + 2000))
		}
	}
	return need
}

func ids(n int) []string {
	s := make([]string, n)
	for i := range s {
		s[i] = fmt.Sprint(i)
	}
	return s
}
