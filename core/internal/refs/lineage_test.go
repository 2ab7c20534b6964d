package refs

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func stored(tb *Table, index uint32, size uint64) *Object {
	o := tb.New(index, 1)
	o.state, o.size = Stored, size
	return o
}

// made is a result of a task that took needs, recorded.
func made(tb *Table, needs ...*Object) (*Object, *Recipe) {
	o := stored(tb, 1, 10)
	r := NewRecipe(job(1), needs)
	tb.Record(r, []*Object{o})
	return o, r
}

func TestLineage_DependencyLetGo_EvictedNotForgotten(t *testing.T) {
	tb := table()
	a, _ := made(tb)
	b, _ := made(tb, a)
	tb.Unref(a, 1)
	if a.state != Evicted || tb.Find(a.ID) != a || len(tb.Take()) != 0 {
		t.Fatalf("state %d", a.state)
	}
	if e := tb.TakeEvicted(); len(e) != 1 || e[0] != a {
		t.Fatalf("evicted %v", e)
	}
	tb.Unref(b, 1)
	if got := tb.Take(); len(got) != 2 || tb.RecipeBytes() != 0 {
		t.Fatalf("%d freed, %d bytes of recipes left", len(got), tb.RecipeBytes())
	}
}

func TestLineage_PutIsNeeded_ValueStays(t *testing.T) {
	tb := table()
	p := stored(tb, 0, 1000)
	b, _ := made(tb, p)
	tb.Unref(p, 1)
	if p.state != Stored || tb.LineageBytes() != 1000 {
		t.Fatalf("state %d, %d lineage bytes", p.state, tb.LineageBytes())
	}
	if !tb.DropOldest() || tb.DropOldest() {
		t.Fatal("there was one recipe to evict")
	}
	if got := tb.Take(); len(got) != 1 || got[0] != p || tb.LineageBytes() != 0 {
		t.Fatalf("freed %v, %d lineage bytes", got, tb.LineageBytes())
	}
	if b.Recomputable() || b.recipe.why != Forgotten {
		t.Fatal("what was evicted can be computed again")
	}
	tb.Unref(b, 1)
	if n, _ := tb.Len(); n != 0 {
		t.Fatalf("%d left", n)
	}
}

// The link of a chain whose lineage is evicted keeps its value: what comes after can still be computed.
func TestLineage_EvictedInTheMiddle_ValueStays(t *testing.T) {
	tb := table()
	a, _ := made(tb)
	b, _ := made(tb, a)
	tb.DropOldest()
	tb.Unref(a, 1)
	if a.state != Stored || tb.LineageBytes() != a.size {
		t.Fatalf("state %d, %d lineage bytes", a.state, tb.LineageBytes())
	}
	tb.Unref(b, 1)
	if n, _ := tb.Len(); n != 0 || tb.LineageBytes() != 0 {
		t.Fatalf("%d left, %d lineage bytes", n, tb.LineageBytes())
	}
}

func TestLineage_ChainOfManyGoes_WithoutRecursion(t *testing.T) {
	tb := table()
	o, _ := made(tb)
	for range 100_000 {
		next, _ := made(tb, o)
		tb.Unref(o, 1)
		o = next
	}
	tb.Unref(o, 1)
	if n, _ := tb.Len(); n != 0 || tb.RecipeBytes() != 0 {
		t.Fatalf("%d left, %d bytes of recipes", n, tb.RecipeBytes())
	}
}

func TestLineage_BusyRecipe_IsNotEvictedAndEndsAfterRest(t *testing.T) {
	tb := table()
	p := stored(tb, 0, 1)
	o, r := made(tb, p)
	tb.Begin(r, r.task)
	if tb.DropOldest() {
		t.Fatal("evicted while its task runs")
	}
	tb.Unref(o, 1)
	tb.Unref(p, 1)
	if tb.Find(p.ID) == nil {
		t.Fatal("an argument went while the task runs")
	}
	tb.Finish(r)
	if n, _ := tb.Len(); n != 0 {
		t.Fatalf("%d left", n)
	}
}

// model is what a program has done to a table, and what should be left.
type model struct {
	held     map[*Object]int // references, pins
	inside   map[*Object][]*Object
	value    map[*Object]bool // it has one
	recipeOf map[*Object]*Recipe
	needs    map[*Recipe][]*Object
	whole    map[*Recipe]bool
	busy     map[*Recipe]bool
}

// settle takes away what nobody needs, to a fixed point.
func (m *model) settle() {
	for changed := true; changed; {
		changed = false
		lineage, contained, results := map[*Object]int{}, map[*Object]int{}, map[*Recipe]int{}
		for o := range m.held {
			results[m.recipeOf[o]]++
			for _, i := range m.inside[o] {
				contained[i]++
			}
		}
		for r := range m.whole {
			if results[r] == 0 && !m.busy[r] {
				delete(m.whole, r)
				changed = true
				continue
			}
			for _, n := range m.needs[r] {
				lineage[n]++
			}
		}
		for o, n := range m.held {
			switch {
			case n+contained[o] > 0:
			case lineage[o] == 0:
				delete(m.held, o)
				delete(m.inside, o)
				delete(m.value, o)
				changed = true
			case m.whole[m.recipeOf[o]] && m.value[o]:
				delete(m.value, o)
				delete(m.inside, o)
				changed = true
			}
		}
	}
}

// Random programs of calls, references, values inside values, losses and evictions.
func TestLineage_RandomPrograms_NothingEarlyNothingKept(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 11))
		tb := table()
		m := &model{map[*Object]int{}, map[*Object][]*Object{}, map[*Object]bool{}, map[*Object]*Recipe{}, map[*Recipe][]*Object{}, map[*Recipe]bool{}, map[*Recipe]bool{}}
		live := func(ok func(*Object) bool) []*Object {
			var l []*Object
			for n := uint64(1); n < tb.Peek(); n++ {
				if o := tb.FindOwned(n); o != nil && ok(o) {
					l = append(l, o)
				}
			}
			return l
		}
		valued := func(o *Object) bool { return m.held[o] > 0 && o.state == Stored }
		freed := map[*Object]bool{}
		for range 150 {
			l := live(func(*Object) bool { return true })
			if len(l) == 0 {
				o := stored(tb, 0, 1+r.Uint64N(100))
				m.held[o], m.value[o] = 1, true
				continue
			}
			o := l[r.IntN(len(l))]
			switch r.IntN(9) {
			case 0:
				o := stored(tb, 0, 1+r.Uint64N(100))
				m.held[o], m.value[o] = 1, true
			case 1, 2: // a call
				var needs []*Object
				for _, x := range live(valued) {
					if r.IntN(3) == 0 {
						needs = append(needs, x)
					}
				}
				rec := NewRecipe(job(1), needs)
				var results []*Object
				for i := range 1 + r.IntN(3) {
					x := stored(tb, uint32(i+1), 1+r.Uint64N(100))
					m.held[x], m.value[x], m.recipeOf[x] = 1, true, rec
					results = append(results, x)
				}
				m.needs[rec], m.whole[rec] = needs, true
				tb.Record(rec, results)
			case 3, 4:
				if m.held[o] > 0 {
					m.held[o]--
					if pinned := int(o.pins) > insides(m, o); pinned && (o.local == 0 || r.IntN(2) == 0) {
						tb.Unpin(o)
					} else {
						tb.Unref(o, 1)
					}
				}
			case 5:
				if o.state == Stored && m.value[o] {
					m.held[o]++
					tb.Pin(o)
				}
			case 6:
				if q := l[r.IntN(len(l))]; valued(o) && valued(q) && q.ID.Count() < o.ID.Count() && m.recipeOf[o] != nil { // no cycles
					needed := slices.Contains(m.needs[m.recipeOf[o]], q)
					if !needed {
						tb.Contain(o, q)
						m.inside[o] = append(m.inside[o], q)
					}
				}
			case 7:
				if r.IntN(4) == 0 && tb.oldest != nil {
					delete(m.whole, tb.oldest)
					tb.DropOldest()
				}
			case 8: // its task runs again, and ends
				if rec := m.recipeOf[o]; o.state == Evicted && m.whole[rec] {
					if m.busy[rec] = !m.busy[rec]; m.busy[rec] {
						tb.Begin(rec, rec.task)
						break
					}
					o.state = Stored
					m.value[o] = true
					tb.Attach(rec, []*Object{o})
					tb.Finish(rec)
					tb.Recheck(o)
				}
			}
			m.settle()
			var lineage, bytes uint64
			for x := range m.held {
				if tb.Find(x.ID) != x {
					t.Fatalf("seed %d: %s freed early", seed, x.ID)
				}
				if m.value[x] != (x.state == Stored) {
					t.Fatalf("seed %d: %s has state %d, a value in the model: %v", seed, x.ID, x.state, m.value[x])
				}
				if x.has(lineageOnly) {
					lineage += x.size
				} else if m.value[x] && m.held[x]+insides(m, x) == 0 {
					t.Fatalf("seed %d: only lineage holds %s, and that is not counted", seed, x.ID)
				}
			}
			for rec := range m.whole {
				if !m.busy[rec] {
					bytes += rec.bytes
				}
			}
			if n, _ := tb.Len(); n != len(m.held) || tb.LineageBytes() != lineage || tb.RecipeBytes() != bytes {
				t.Fatalf("seed %d: table has %d objects, model %d; %d lineage bytes, not %d; %d of recipes, not %d", seed, n, len(m.held), tb.LineageBytes(), lineage, tb.RecipeBytes(), bytes)
			}
			for _, x := range tb.Take() {
				if freed[x] {
					t.Fatalf("seed %d: %s freed twice", seed, x.ID)
				}
				freed[x] = true
			}
		}
	}
}

func insides(m *model, o *Object) (n int) {
	for _, list := range m.inside {
		for _, x := range list {
			if x == o {
				n++
			}
		}
	}
	return n
}
