package refs

import (
	"math/rand/v2"
	"testing"
)

// Random programs against a map: neighbours, gaps as generators leave them, removal in any order.
func TestIndex_RandomPrograms_FindsWhatAMapFinds(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		x, model := newIndex(), map[uint64]*Object{}
		next := uint64(0)
		var live []uint64
		for range 4000 {
			switch r.IntN(10) {
			case 0:
				next += 1 << 32
			case 1, 2, 3, 4, 5:
				next++
				c := next
				if r.IntN(8) == 0 { // one that was set aside
					c = next - uint64(r.IntN(200)) - 1
				}
				if c > next || model[c] != nil {
					continue
				}
				o := new(Object)
				x.set(c, o)
				model[c] = o
				live = append(live, c)
			default:
				if len(live) == 0 {
					continue
				}
				i := r.IntN(len(live))
				c := live[i]
				live[i] = live[len(live)-1]
				live = live[:len(live)-1]
				x.remove(c)
				x.remove(c) // a second time changes nothing
				delete(model, c)
			}
			if x.n != len(model) {
				t.Fatalf("seed %d: %d objects, want %d", seed, x.n, len(model))
			}
			if r.IntN(50) == 0 {
				wellFormed(t, &x)
			}
		}
		for _, c := range live {
			if x.find(c) != model[c] {
				t.Fatalf("seed %d: count %d gives another object", seed, c)
			}
			if x.find(c+1<<40) != nil {
				t.Fatalf("seed %d: an object where there is none", seed)
			}
		}
		met := 0
		x.each(func(*Object) bool { met++; return true })
		if met != len(model) {
			t.Fatalf("seed %d: met %d, want %d", seed, met, len(model))
		}
		for _, c := range live {
			x.remove(c)
		}
		if len(x.branches) > 1 {
			t.Fatalf("seed %d: %d branches stay for nothing", seed, len(x.branches))
		}
	}
}

// wellFormed checks that each branch and leaf counts what it holds, and that
// none stays which holds nothing, but for the leaf of the newest count.
func wellFormed(t *testing.T, x *index) {
	t.Helper()
	for at, b := range x.branches {
		leaves := 0
		for i, l := range b.leaf {
			if l == nil {
				continue
			}
			leaves++
			objects := 0
			for _, o := range l.slot {
				if o != nil {
					objects++
				}
			}
			newest := x.newest>>leafBits == at<<branchBits|uint64(i)
			if l.n != objects || objects == 0 && !newest {
				t.Fatalf("leaf %d of branch %d counts %d objects and has %d", i, at, l.n, objects)
			}
		}
		if b.n != leaves || leaves == 0 {
			t.Fatalf("branch %d counts %d leaves and has %d", at, b.n, leaves)
		}
	}
	if x.last != nil && x.branches[x.at] != x.last {
		t.Fatal("the branch that was looked at last is no branch of the index")
	}
}

// The branch that was looked at last is found without the map.
func TestIndex_BranchLookedAtLast_IsRemembered(t *testing.T) {
	x := newIndex()
	far := uint64(1) << (leafBits + branchBits)
	x.set(1, new(Object))
	x.set(far, new(Object))
	for _, count := range []uint64{1, far, 2, far + 1} {
		x.find(count)
		if x.last == nil || x.last != x.branches[count/far] || x.at != count/far {
			t.Errorf("count %d: another branch is remembered", count)
		}
	}
	if x.find(2*far) != nil || x.last == nil {
		t.Error("a look for what is not there forgets the branch")
	}
}

func TestIndex_OneObjectAtATime_AllocatesNothing(t *testing.T) {
	x, o, next := newIndex(), new(Object), uint64(0)
	one := func() {
		next++
		x.set(next, o)
		x.remove(next)
	}
	one()
	// A branch is made for every 4,096 counts, and that is all.
	if n := testing.AllocsPerRun(1000, one); n > 0.01 {
		t.Fatalf("%v allocations for each object", n)
	}
}

// Looking at one object after another asks the map of branches only where a new branch begins.
func TestIndex_LookAtNeighbours_BranchIsRemembered(t *testing.T) {
	x := newIndex()
	const far = fan << branchBits // the first count of the next branch
	for _, count := range []uint64{1, far} {
		x.set(count, new(Object))
		if x.last == nil || x.last != x.branches[count/far] || x.at != count/far {
			t.Errorf("after object %d is set, branch %d is remembered", count, x.at)
		}
	}
	for _, count := range []uint64{1, far, 1} {
		x.find(count)
		if x.last == nil || x.last != x.branches[count/far] || x.at != count/far {
			t.Errorf("after a look at object %d, branch %d is remembered", count, x.at)
		}
	}
}
