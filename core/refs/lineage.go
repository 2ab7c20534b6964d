package refs

// Why says whether, and why not, an object can be computed again.
type Why uint8

// A recipe is Whole until it is evicted; the others are of what never had one.
const (
	Whole     Why = iota
	Evicted       // it was let go to bound the memory of lineage
	Exhausted     // its task has used its retries up
	NoRetries     // its task was submitted with none
	Off           // lineage is switched off
	Freed         // the program freed the value by hand
)

// Recipe is a finished task that is kept to compute its results again, should
// they be lost. It needs the objects that the task took: their entries stay,
// and so do the values of those that cannot be computed again themselves;
// others' values go when nobody holds them, to be computed again when needed.
type Recipe struct {
	Task  any // core/client's
	Bytes uint64
	Needs []*Object // of ours
	Why   Why

	results      int  // objects that it can compute
	busy         bool // the task runs again
	older, newer *Recipe
	listed       bool
}

// Busy reports whether the recipe is in use.
func (r *Recipe) Busy() bool { return r.busy }

// NoRecipe is the recipe of objects that cannot be computed again, and why.
func NoRecipe(w Why) *Recipe { return missing[w] }

var missing = func() (m [Freed + 1]*Recipe) {
	for w := Evicted; w <= Freed; w++ {
		m[w] = &Recipe{Why: w}
	}
	return m
}()

// Renewable reports whether the object can be computed again.
func (o *Object) Renewable() bool { return o.Recipe != nil && o.Recipe.Why == Whole }

// Record remembers how to compute results again; each is Stored.
func (t *Table) Record(r *Recipe, results []*Object) {
	for _, n := range r.Needs {
		n.Lineage++
	}
	t.list(r)
	t.Attach(r, results)
}

// Attach adds results that the recipe can compute.
func (t *Table) Attach(r *Recipe, results []*Object) {
	for _, o := range results {
		if o.Recipe == r {
			continue
		}
		old := o.Recipe
		o.Recipe = r
		r.results++
		t.unlearn(old)
	}
	t.retire(r)
	t.work()
}

// SetRecipe gives an object a recipe that computes nothing, in place of the one it has.
func (t *Table) SetRecipe(o *Object, r *Recipe) {
	old := o.Recipe
	o.Recipe = r
	t.unlearn(old)
	t.work()
}

// Use takes a recipe out of those that may be evicted while its task runs again.
func (t *Table) Use(r *Recipe) {
	r.busy = true
	t.unlist(r)
}

// Rest puts it back; it is the newest then.
func (t *Table) Rest(r *Recipe) {
	r.busy = false
	if r.Why == Whole {
		t.list(r)
	}
	t.retire(r)
	t.work()
}

// Drop lets a recipe go; what it could compute is lost for good, and says why, if it is lost.
func (t *Table) Drop(r *Recipe, why Why) {
	r.busy = false
	t.discard(r, why)
	t.work()
}

// Evict lets the oldest recipe go; false: there is none.
func (t *Table) Evict() bool {
	r := t.oldest
	if r == nil {
		return false
	}
	t.Drop(r, Evicted)
	return true
}

// LineageBytes is what the recipes take.
func (t *Table) LineageBytes() uint64 { return t.recipeBytes }

// Captive is how many bytes of values only recipes hold.
func (t *Table) Captive() uint64 { return t.captive }

// Recipes calls f with each recipe that is not in use, from the oldest.
func (t *Table) Recipes(f func(*Recipe)) {
	for r := t.oldest; r != nil; r = r.newer {
		f(r)
	}
}

// TakeUnused returns the tasks of the recipes that were let go of since the last call.
func (t *Table) TakeUnused() []any {
	u := t.unused
	t.unused = nil
	return u
}

// Settle looks at an object again whose value has come or gone.
func (t *Table) Settle(o *Object) { t.check(o) }

// TakeEmptied returns the objects whose stored copies are to be freed though
// they live on as Emptied: only lineage needs them.
func (t *Table) TakeEmptied() []*Object {
	e := t.emptied
	t.emptied = nil
	return e
}

func (t *Table) list(r *Recipe) {
	r.older, r.newer = t.newest, nil
	if t.newest != nil {
		t.newest.newer = r
	} else {
		t.oldest = r
	}
	t.newest, r.listed = r, true
	t.recipeBytes += r.Bytes
}

func (t *Table) unlist(r *Recipe) {
	if !r.listed {
		return
	}
	if r.older != nil {
		r.older.newer = r.newer
	} else {
		t.oldest = r.newer
	}
	if r.newer != nil {
		r.newer.older = r.older
	} else {
		t.newest = r.older
	}
	r.older, r.newer, r.listed = nil, nil, false
	t.recipeBytes -= r.Bytes
}

// unlearn: one object fewer has the recipe.
func (t *Table) unlearn(r *Recipe) {
	if r == nil || r.Why != Whole {
		return
	}
	r.results--
	t.retire(r)
}

// retire lets a recipe go that nobody needs.
func (t *Table) retire(r *Recipe) {
	if r.results <= 0 && !r.busy && r.Why == Whole {
		t.discard(r, Evicted)
	}
}

func (t *Table) discard(r *Recipe, why Why) {
	t.unlist(r)
	if r.Why != Whole {
		return
	}
	r.Why = why
	needs := r.Needs
	t.unused = append(t.unused, r.Task)
	r.Needs, r.Task = nil, nil
	for _, n := range needs {
		n.Lineage--
		if n.Lineage == 0 && n.captive {
			n.captive = false
			t.captive -= n.Size
		}
		t.todo = append(t.todo, n)
	}
}

// lineageHolds sees to an object of ours that only recipes need.
func (t *Table) lineageHolds(o *Object) {
	switch {
	case !o.Renewable():
		if !o.captive && (o.State == Stored || o.State == Inline) {
			o.captive = true
			t.captive += o.Size
		}
	case o.State == Stored:
		o.State = Emptied
		t.emptied = append(t.emptied, o)
		t.uncontain(o)
	}
}

// uncontain lets go of what the object's value contains.
func (t *Table) uncontain(o *Object) {
	inner := o.Contained
	o.Contained = nil
	for _, i := range inner {
		i.Pins--
		t.todo = append(t.todo, i)
	}
}

// Replace makes outer contain what is contained from now on, and no more what
// it did: its value was computed again.
func (t *Table) Replace(outer *Object, contained []*Object) {
	for _, i := range contained {
		i.Pins++
		i.Shared = true
	}
	t.uncontain(outer)
	outer.Contained = contained
	t.work()
}
