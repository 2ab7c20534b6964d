package refs

import (
	"math/rand/v2"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
)

func table() *Table { return NewTable(ids.NewWorkerOn(1).Owner(), ids.JobOf(1), "own", new(recorder)) }

func TestTable_LastHolderGoes_ObjectDies(t *testing.T) {
	tb, p := table(), ids.NewWorkerOn(1).Owner()
	o := tb.New(1, 1)
	tb.Pin(o)
	tb.AddBorrower(o, p)
	tb.AddBorrower(o, p) // told twice, counted once
	tb.Unref(o, 1)
	tb.Unpin(o)
	if tb.Find(o.ID) != o || len(tb.Take()) != 0 {
		t.Fatal("freed while borrowed")
	}
	tb.DropProcess(p)
	if got := tb.Take(); len(got) != 1 || got[0] != o || tb.Find(o.ID) != nil {
		t.Fatalf("not freed: %v", got)
	}
}

func TestTable_OuterDies_InnerFollows(t *testing.T) {
	tb := table()
	inner, outer, most := tb.New(0, 1), tb.New(0, 1), tb.New(0, 1)
	tb.Contain(outer, inner)
	tb.Contain(most, outer)
	tb.Unref(inner, 1)
	tb.Unref(outer, 1)
	if len(tb.Take()) != 0 {
		t.Fatal("contained objects freed early")
	}
	tb.Unref(most, 1)
	if got := tb.Take(); len(got) != 3 {
		t.Fatalf("%d freed, want 3", len(got))
	}
	if n, _ := tb.Len(); n != 0 {
		t.Fatalf("%d left", n)
	}
}

func TestTable_BorrowOfOwnFreedObject_Fails(t *testing.T) {
	tb := table()
	o := tb.New(0, 1)
	tb.Unref(o, 1)
	got := tb.Borrow(o.ID, "somewhere")
	if tb.Unregistered() != 0 || got.state != Failed || got.fault == nil {
		t.Fatalf("got %+v", got)
	}
}

// Random programs against a model that only counts holders.
func TestTable_RandomPrograms_NothingEarlyNothingKept(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 7))
		tb := table()
		type held struct{ local, pins, inside int }
		model := map[*Object]*held{}
		contains := map[*Object][]*Object{}
		procs := []ids.Owner{ids.NewWorkerOn(1).Owner(), ids.NewWorkerOn(1).Owner()}
		borrows := map[*Object]map[ids.Owner]bool{}
		live := func() []*Object {
			var l []*Object
			for n := uint64(1); n < tb.Peek(); n++ {
				if o := tb.FindOwned(n); o != nil {
					l = append(l, o)
				}
			}
			return l
		}
		for range 120 {
			l := live()
			if len(l) == 0 || r.IntN(4) == 0 {
				o := tb.New(0, 1)
				model[o] = &held{local: 1}
				borrows[o] = map[ids.Owner]bool{}
				continue
			}
			o, p := l[r.IntN(len(l))], procs[r.IntN(2)]
			m := model[o]
			switch r.IntN(7) {
			case 0:
				tb.Pin(o)
				m.pins++
			case 1:
				if m.pins > 0 {
					m.pins--
					tb.Unpin(o)
				}
			case 2:
				if m.local > 0 {
					m.local--
					tb.Unref(o, 1)
				}
			case 3:
				borrows[o][p] = true
				tb.AddBorrower(o, p)
			case 4:
				delete(borrows[o], p)
				tb.DropBorrower(o, p)
			case 5:
				for x := range borrows {
					delete(borrows[x], p)
				}
				tb.DropProcess(p)
			case 6:
				if q := l[r.IntN(len(l))]; q.ID.Count() < o.ID.Count() { // no cycles
					tb.Contain(o, q)
					model[q].inside++
					contains[o] = append(contains[o], q)
				}
			}
			// The model: collect what nobody holds, to a fixed point.
			for changed := true; changed; {
				changed = false
				for x, h := range model {
					if h.local+h.pins+h.inside+len(borrows[x]) == 0 {
						for _, i := range contains[x] {
							model[i].inside--
						}
						delete(model, x)
						delete(contains, x)
						changed = true
					}
				}
			}
			if n, _ := tb.Len(); n != len(model) {
				t.Fatalf("seed %d: table has %d objects, model %d", seed, n, len(model))
			}
			for x := range model {
				if tb.Find(x.ID) != x {
					t.Fatalf("seed %d: %s freed early", seed, x.ID)
				}
			}
		}
	}
}
