package refs

import (
	"math/rand/v2"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
)

// Random programs borrow objects of several owners and let them go; a map says
// what the table must know.
func TestTable_RandomBorrowing_KnowsWhatAMapKnows(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 13))
		tb := table()
		owners := []ids.Owner{ids.NewWorkerOn(1).Owner(), ids.NewWorkerOn(1).Owner(), ids.NewWorkerOn(1).Owner()}
		known := map[ids.Object]*Object{}
		for range 400 {
			p := owners[r.IntN(len(owners))]
			id := ids.NewObject(1+r.Uint64N(6), p, ids.JobOf(1), 1)
			switch r.IntN(3) {
			case 0:
				before := tb.Unregistered()
				o := tb.Borrow(id, "its owner")
				isNew := tb.Unregistered() == before+1
				if was := known[id]; isNew != (was == nil) || was != nil && was != o || o.ID != id || o.ownerAddr != "its owner" || o.Owned() {
					t.Fatalf("seed %d: borrowing %s gives %+v, new: %v, known before: %v", seed, id, o, isNew, was != nil)
				}
				known[id] = o
				o.local++
			case 1:
				o := known[id]
				if o == nil {
					continue
				}
				tb.Unref(o, 1)
				if freed := tb.Take(); (o.local == 0) != (len(freed) == 1 && freed[0] == o) {
					t.Fatalf("seed %d: %d references are left and %v is given back", seed, o.local, freed)
				}
				if o.local == 0 {
					delete(known, id)
				}
			case 2:
				if got := tb.Find(id); got != known[id] {
					t.Fatalf("seed %d: found %v of %s, want %v", seed, got, id, known[id])
				}
				other := ids.NewObject(id.Count(), p, ids.JobOf(1), 2)
				if tb.Find(other) != nil {
					t.Fatalf("seed %d: %s is found by the number of another result", seed, other)
				}
			}
			owned, borrowed := tb.Len()
			if owned != 0 || borrowed != len(known) {
				t.Fatalf("seed %d: %d objects are owned and %d borrowed, want 0 and %d", seed, owned, borrowed, len(known))
			}
			// The owner that was asked about last is remembered, as long as something of it is borrowed.
			if tb.lent != nil && tb.lent != tb.borrowed[tb.lender] {
				t.Fatalf("seed %d: the remembered owner has another index", seed)
			}
			if x := tb.of(p); x != tb.borrowed[p] || x != nil && (tb.lent != x || tb.lender != p || x.n == 0) {
				t.Fatalf("seed %d: the index of an owner is not remembered, or stays empty", seed)
			}
		}
		met := map[*Object]int{}
		tb.EachBorrowed(func(o *Object) bool { met[o]++; return true })
		for _, o := range known {
			if met[o] != 1 {
				t.Fatalf("seed %d: %s is met %d times", seed, o.ID, met[o])
			}
		}
		if len(met) != len(known) {
			t.Fatalf("seed %d: %d objects are met, want %d", seed, len(met), len(known))
		}
	}
}

// Each ends with the first object for which the function says so, whether it
// is owned or borrowed, and meets all when it never does.
func TestTable_Each_EndsWhenTold(t *testing.T) {
	tb := table()
	for i := range 3 {
		tb.New(0, 1)
		tb.Borrow(ids.NewObject(1, ids.NewWorkerOn(1).Owner(), ids.JobOf(1), uint32(i)), "a")
	}
	for most := 1; most <= 7; most++ {
		met := 0
		tb.Each(func(*Object) bool { met++; return met < most })
		if met != min(most, 6) {
			t.Errorf("%d objects are met when the function ends at number %d of 6", met, most)
		}
	}
	met := 0
	tb.EachBorrowed(func(*Object) bool { met++; return met < 2 })
	if met != 2 {
		t.Errorf("%d borrowed objects are met when the function ends at number 2", met)
	}
}

func TestTable_BorrowOfOwnLiveObject_IsThatObject(t *testing.T) {
	tb := table()
	o := tb.New(3, 1)
	if got := tb.Borrow(o.ID, "somewhere"); got != o || tb.Unregistered() != 0 || !o.Owned() {
		t.Errorf("got %+v, %d references are to be registered", got, tb.Unregistered())
	}
}

// A reference of ours that comes back late is a failed object of ours, known
// until nobody holds it.
func TestTable_BorrowOfOwnFreedObject_IsOursUntilLetGo(t *testing.T) {
	tb := table()
	o := tb.New(0, 1)
	tb.Unref(o, 1)
	tb.Take()
	late := tb.Borrow(o.ID, "somewhere")
	if !late.Owned() || tb.Find(o.ID) != late {
		t.Fatalf("got %+v", late)
	}
	late.local = 1
	tb.Unref(late, 1)
	if freed := tb.Take(); len(freed) != 1 || freed[0] != late || tb.Find(o.ID) != nil {
		t.Errorf("freed %v", freed)
	}
}

// Who borrows an object is told until each of them has let go.
func TestTable_Borrowers_Counted(t *testing.T) {
	tb := table()
	a, b := tb.New(0, 1), tb.New(0, 1)
	p, q := ids.NewWorkerOn(1).Owner(), ids.NewWorkerOn(1).Owner()
	for _, o := range []*Object{a, b} {
		tb.AddBorrower(o, p)
		tb.AddBorrower(o, p)
	}
	tb.AddBorrower(a, q)
	if a.Borrowers() != 2 || len(a.HeldBy()) != 2 || b.Borrowers() != 1 || len(b.HeldBy()) != 1 || b.HeldBy()[0] != p {
		t.Fatalf("borrowers %v and %v", a.HeldBy(), b.HeldBy())
	}
	tb.DropBorrower(a, p)
	tb.DropBorrower(a, p) // told twice
	tb.DropProcess(p)     // it holds b still
	if a.Borrowers() != 1 || a.HeldBy()[0] != q || b.Borrowers() != 0 {
		t.Fatalf("borrowers %v and %v", a.HeldBy(), b.HeldBy())
	}
	tb.DropProcess(q)
	if a.Borrowers() != 0 || len(tb.lentTo) != 0 {
		t.Fatalf("borrowers %v, of %d processes it is noted that they borrow", a.HeldBy(), len(tb.lentTo))
	}
}
