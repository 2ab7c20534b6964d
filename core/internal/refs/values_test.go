package refs

import (
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
)

func TestState_Ready_WhenGetNeedNotWait(t *testing.T) {
	for state, want := range map[State]bool{Pending: false, Infeasible: false, Evicted: false, Inline: true, Stored: true, Failed: true} {
		if state.Ready() != want {
			t.Errorf("state %d is ready: %v, want %v", state, state.Ready(), want)
		}
	}
}

// An object may be known to others once it was pinned, borrowed or put into
// another value; before that it is not.
func TestObject_Shared_FromThenOn(t *testing.T) {
	for name, share := range map[string]func(tb *Table, o *Object){
		"pinned":                   func(tb *Table, o *Object) { tb.Pin(o) },
		"borrowed":                 func(tb *Table, o *Object) { tb.AddBorrower(o, ids.NewWorkerOn(1).Owner()) },
		"contained":                func(tb *Table, o *Object) { tb.Contain(tb.New(0, 1), o) },
		"contained in a new value": func(tb *Table, o *Object) { tb.Replace(tb.New(0, 1), []*Object{o}) },
	} {
		tb := table()
		o := tb.New(0, 1)
		if o.Shared() {
			t.Fatal("a new object is shared")
		}
		if share(tb, o); !o.Shared() {
			t.Errorf("%s: not shared", name)
		}
	}
}

// Objects with counts that were set aside are found by them, and the count goes on behind.
func TestTable_Place_UsesReservedCounts(t *testing.T) {
	tb := table()
	first := tb.Peek()
	tb.Reserve(3)
	o := tb.Place(first+1, 7)
	if o.ID.Count() != first+1 || o.ID.Index() != 7 || o.ID.Owner() != tb.self || tb.Find(o.ID) != o || tb.FindOwned(first+1) != o {
		t.Errorf("got %s", o.ID)
	}
	if next := tb.New(0, 1); next.ID.Count() != first+3 {
		t.Errorf("the next object has number %d, want %d", next.ID.Count(), first+3)
	}
}

// What a value contains lives as long as the value, and as long as it is not
// computed again with other contents.
func TestTable_ContainAllAndReplace_KeepWhatIsInside(t *testing.T) {
	tb := table()
	outer, a, b, c := tb.New(0, 1), tb.New(0, 1), tb.New(0, 1), tb.New(0, 1)
	tb.ContainAll(outer, []*Object{a, b})
	for _, o := range []*Object{a, b, c} {
		if o != c {
			tb.Unref(o, 1)
		}
	}
	if len(tb.Take()) != 0 {
		t.Fatal("what a value contains went before it")
	}
	tb.Replace(outer, []*Object{b, c})
	tb.Unref(c, 1)
	if freed := tb.Take(); !slices.Equal(freed, []*Object{a}) {
		t.Fatalf("freed %v, want the one that the new value does not contain", freed)
	}
	tb.Unref(outer, 1)
	if freed := tb.Take(); len(freed) != 3 || len(tb.Take()) != 0 {
		t.Fatalf("%d objects are freed with the value, want it and 2", len(freed))
	}
	if n, _ := tb.Len(); n != 0 {
		t.Fatalf("%d objects are left", n)
	}
}

// Recipes are listed from the oldest, whichever are in use meanwhile; one that
// rests again is the newest, and the oldest is evicted first.
func TestLineage_Recipes_InOrderOfTheirAge(t *testing.T) {
	for use := range 4 {
		tb := table()
		var recipes []*Recipe
		for i := range 4 {
			_, r := made(tb)
			r.task = job(i)
			recipes = append(recipes, r)
		}
		listed := func() (tasks []int) {
			tb.Recipes(func(r *Recipe) { tasks = append(tasks, int(r.task.(job))) })
			return tasks
		}
		r := recipes[use]
		tb.Begin(r, r.task)
		tb.Begin(r, r.task) // a second time changes nothing
		left := slices.DeleteFunc([]int{0, 1, 2, 3}, func(i int) bool { return i == use })
		if !r.Running() || !slices.Equal(listed(), left) || tb.RecipeBytes() != 300 {
			t.Fatalf("with recipe %d in use %v are listed, of %d bytes", use, listed(), tb.RecipeBytes())
		}
		tb.Finish(r)
		if order := append(left, use); r.Running() || !slices.Equal(listed(), order) || tb.RecipeBytes() != 400 {
			t.Fatalf("after its use %v are listed, want %v, of %d bytes", listed(), order, tb.RecipeBytes())
		}
		var gone []int
		for tb.DropOldest() {
			for _, task := range tb.TakeUnused() {
				gone = append(gone, int(task.(job)))
			}
		}
		if order := append(left, use); !slices.Equal(gone, order) || tb.RecipeBytes() != 0 {
			t.Fatalf("evicted in the order %v, want %v; %d bytes are left", gone, order, tb.RecipeBytes())
		}
	}
}

// A recipe that is dropped says why, also when its task runs; dropped twice it
// keeps the first reason.
func TestLineage_Drop_SaysWhy(t *testing.T) {
	tb := table()
	o, r := made(tb)
	tb.Begin(r, r.task)
	tb.DropRecipe(r, Exhausted)
	tb.DropRecipe(r, Freed)
	if r.Running() || r.why != Exhausted || o.Recomputable() || len(tb.TakeUnused()) != 1 || len(tb.TakeUnused()) != 0 {
		t.Errorf("the recipe says %d, busy: %v", r.why, r.Running())
	}
	tb.Finish(r)
	if tb.DropOldest() || tb.RecipeBytes() != 0 {
		t.Error("a recipe that was dropped can be evicted")
	}
	for w := Forgotten; w <= Freed; w++ {
		tb.SetRecipe(o, NoRecipe(w))
		if o.Recomputable() || o.recipe.why != w {
			t.Errorf("an object without a recipe says %d, want %d", o.recipe.why, w)
		}
	}
}

// An object that was evicted is told once. Its value was freed, so it contains nothing any more.
func TestLineage_Evicted_ToldOnceAndLetsGoOfWhatItContained(t *testing.T) {
	tb := table()
	inner := stored(tb, 0, 5)
	a, _ := made(tb)
	tb.Contain(a, inner)
	made(tb, a)
	tb.Unref(inner, 1)
	tb.Unref(a, 1)
	if freed := tb.Take(); len(freed) != 1 || freed[0] != inner || a.state != Evicted {
		t.Fatalf("freed %v, state %d", freed, a.state)
	}
	if len(tb.TakeEvicted()) != 1 || len(tb.TakeEvicted()) != 0 {
		t.Error("what was evicted is told twice, or never")
	}
}

// A value that lies inside the table is held by lineage, too.
func TestLineage_InlineValueThatOnlyLineageNeeds_Counted(t *testing.T) {
	tb := table()
	p := tb.New(0, 1)
	p.state, p.size = Inline, 30
	made(tb, p)
	tb.Unref(p, 1)
	tb.Recheck(p) // looked at again, it counts once
	if tb.LineageBytes() != 30 || p.state != Inline {
		t.Errorf("%d lineage bytes, state %d", tb.LineageBytes(), p.state)
	}
	q := tb.New(0, 1) // no value yet: nothing to count
	q.size = 7
	made(tb, q)
	tb.Unref(q, 1)
	if tb.LineageBytes() != 30 {
		t.Errorf("%d lineage bytes with an object without a value", tb.LineageBytes())
	}
}
