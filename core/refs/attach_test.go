package refs

import "testing"

// A recipe counts each of its results once, whatever it is told again, and
// goes with the last of them.
func TestLineage_AttachAgain_EachResultCountsOnce(t *testing.T) {
	tb := table()
	a, b := stored(tb, 1, 10), stored(tb, 2, 10)
	r := &Recipe{Task: 1, Bytes: 100}
	tb.Record(r, []*Object{a})
	tb.Attach(r, []*Object{a, b})
	if a.Recipe != r || b.Recipe != r {
		t.Fatal("a result has another recipe")
	}
	tb.Unref(a, 1)
	if tb.LineageBytes() != 100 || len(tb.TakeUnused()) != 0 {
		t.Fatalf("%d bytes of lineage while a result is left", tb.LineageBytes())
	}
	tb.Unref(b, 1)
	if unused := tb.TakeUnused(); tb.LineageBytes() != 0 || len(unused) != 1 || unused[0] != 1 {
		t.Fatalf("%d bytes of lineage without a result, unused %v", tb.LineageBytes(), unused)
	}
}

// What only the recipe before needed is freed at once.
func TestLineage_SetRecipe_FreesWhatTheOldOneNeeded(t *testing.T) {
	tb := table()
	p := stored(tb, 0, 1000)
	b, _ := made(tb, p)
	tb.Unref(p, 1)
	tb.SetRecipe(b, &Recipe{Why: Evicted})
	if got := tb.Take(); len(got) != 1 || got[0] != p {
		t.Fatalf("freed %v, want the argument", got)
	}
	if tb.Captive() != 0 || tb.LineageBytes() != 0 {
		t.Fatalf("%d bytes captive, %d of lineage", tb.Captive(), tb.LineageBytes())
	}
}
