package refs

import "testing"

// A recipe counts each of its results once, whatever it is told again, and
// goes with the last of them.
func TestLineage_AttachAgain_EachResultCountsOnce(t *testing.T) {
	tb := table()
	a, b := stored(tb, 1, 10), stored(tb, 2, 10)
	r := NewRecipe(job(1), nil)
	tb.Record(r, []*Object{a})
	tb.Attach(r, []*Object{a, b})
	if a.recipe != r || b.recipe != r {
		t.Fatal("a result has another recipe")
	}
	tb.Unref(a, 1)
	if tb.RecipeBytes() != 100 || len(tb.TakeUnused()) != 0 {
		t.Fatalf("%d bytes of recipes while a result is left", tb.RecipeBytes())
	}
	tb.Unref(b, 1)
	if unused := tb.TakeUnused(); tb.RecipeBytes() != 0 || len(unused) != 1 || unused[0] != job(1) {
		t.Fatalf("%d bytes of recipes without a result, unused %v", tb.RecipeBytes(), unused)
	}
}

// What only the recipe before needed is freed at once.
func TestLineage_SetRecipe_FreesWhatTheOldOneNeeded(t *testing.T) {
	tb := table()
	p := stored(tb, 0, 1000)
	b, _ := made(tb, p)
	tb.Unref(p, 1)
	tb.SetRecipe(b, &Recipe{why: Forgotten})
	if got := tb.Take(); len(got) != 1 || got[0] != p {
		t.Fatalf("freed %v, want the argument", got)
	}
	if tb.LineageBytes() != 0 || tb.RecipeBytes() != 0 {
		t.Fatalf("%d lineage bytes, %d of recipes", tb.LineageBytes(), tb.RecipeBytes())
	}
}
