package refs

// Record remembers how to compute results again, each of which is Stored.
func (t *Table) Record(r *Recipe, results []*Object) {
	for _, n := range r.needs {
		n.lineage++
	}
	t.list(r)
	t.Attach(r, results)
}

// Attach adds results that the recipe can compute.
func (t *Table) Attach(r *Recipe, results []*Object) {
	for _, o := range results {
		if o.recipe == r {
			continue
		}
		old := o.recipe
		o.recipe = r
		r.results++
		t.unlearn(old)
	}
	t.dropUnneeded(r)
	t.work()
}

// SetRecipe gives an object a recipe that computes nothing, in place of the one it has.
func (t *Table) SetRecipe(o *Object, r *Recipe) {
	old := o.recipe
	o.recipe = r
	t.unlearn(old)
	t.work()
}

// Begin notes that the recipe's task runs again, as task k. The recipe cannot be evicted meanwhile.
func (t *Table) Begin(r *Recipe, k Task) {
	r.running, r.task = true, k
	t.unlist(r)
}

// Finish notes that the task has ended. The recipe is the newest one then.
func (t *Table) Finish(r *Recipe) {
	r.running = false
	if r.why == Whole {
		t.list(r)
	}
	t.dropUnneeded(r)
	t.work()
}

// DropRecipe drops a recipe. An object that only this recipe could compute is lost for good when its copy is lost, and its error says why.
func (t *Table) DropRecipe(r *Recipe, why Why) {
	r.running = false
	t.discard(r, why)
	t.work()
}

// DropOldest drops the oldest recipe that does not run. It returns false when there is none.
func (t *Table) DropOldest() bool {
	r := t.oldest
	if r == nil {
		return false
	}
	t.DropRecipe(r, Forgotten)
	return true
}

// RecipeBytes returns how much memory the recipes that do not run take.
func (t *Table) RecipeBytes() uint64 { return t.recipeBytes }

// LineageBytes returns how many bytes the values that only recipes hold have.
func (t *Table) LineageBytes() uint64 { return t.lineageBytes }

// Recipes calls f with each recipe that does not run, from the oldest.
func (t *Table) Recipes(f func(*Recipe)) {
	for r := t.oldest; r != nil; r = r.newer {
		f(r)
	}
}

// Recheck looks at an object whose value has come or gone, in case that nobody holds it.
func (t *Table) Recheck(o *Object) { t.check(o) }

// BoundLineage drops the oldest recipes that do not run, until the recipes take
// at most recipes bytes, and the values that only recipes hold take at most values bytes.
func (t *Table) BoundLineage(recipes, values uint64) {
	for t.recipeBytes > recipes || t.lineageBytes > values {
		if !t.DropOldest() {
			return
		}
	}
}

// Replace makes outer contain these objects in place of those that it contained:
// its value was computed again, or freed.
func (t *Table) Replace(outer *Object, contained []*Object) {
	for _, i := range contained {
		i.pins++
		i.flags |= shared
	}
	t.uncontain(outer)
	outer.contained = contained
	t.work()
}
