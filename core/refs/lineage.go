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

// DropRecipe lets a recipe go. What only this recipe could compute is lost for good when its copy is lost, and says why.
func (t *Table) DropRecipe(r *Recipe, why Why) {
	r.running = false
	t.discard(r, why)
	t.work()
}

// DropOldest lets the oldest recipe go that does not run. It returns false when there is none.
func (t *Table) DropOldest() bool {
	r := t.oldest
	if r == nil {
		return false
	}
	t.DropRecipe(r, Forgotten)
	return true
}

// RecipeBytes is how much memory the recipes take that do not run.
func (t *Table) RecipeBytes() uint64 { return t.recipeBytes }

// LineageBytes is how many bytes the values have that only recipes hold.
func (t *Table) LineageBytes() uint64 { return t.lineageBytes }

// Recipes calls f with each recipe that does not run, from the oldest.
func (t *Table) Recipes(f func(*Recipe)) {
	for r := t.oldest; r != nil; r = r.newer {
		f(r)
	}
}

// Recheck looks at an object whose value has come or gone, in case that nobody holds it.
func (t *Table) Recheck(o *Object) { t.check(o) }

// BoundLineage lets the oldest recipes go that do not run, until the recipes take
// at most recipes bytes, and the values that only recipes hold take at most values bytes.
func (t *Table) BoundLineage(recipes, values uint64) {
	for t.recipeBytes > recipes || t.lineageBytes > values {
		if !t.DropOldest() {
			return
		}
	}
}

func (t *Table) list(r *Recipe) {
	r.older, r.newer = t.newest, nil
	if t.newest != nil {
		t.newest.newer = r
	} else {
		t.oldest = r
	}
	t.newest, r.listed = r, true
	t.recipeBytes += r.bytes
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
	t.recipeBytes -= r.bytes
}

// unlearn notes that one object fewer has the recipe.
func (t *Table) unlearn(r *Recipe) {
	if r == nil || r.why != Whole {
		return
	}
	r.results--
	t.dropUnneeded(r)
}

// dropUnneeded lets a recipe go that no object has any more.
func (t *Table) dropUnneeded(r *Recipe) {
	if r.results <= 0 && !r.running && r.why == Whole {
		t.discard(r, Forgotten)
	}
}

func (t *Table) discard(r *Recipe, why Why) {
	t.unlist(r)
	if r.why != Whole {
		return
	}
	r.why = why
	needs := r.needs
	t.unused = append(t.unused, r.task)
	r.needs, r.task = nil, nil
	for _, n := range needs {
		n.lineage--
		if n.lineage == 0 && n.has(lineageOnly) {
			n.flags &^= lineageOnly
			t.lineageBytes -= n.size
		}
		t.todo = append(t.todo, n)
	}
}

// lineageHolds decides about an object of ours that only recipes need: its value
// stays when nothing else can make it, and goes when a recipe can.
func (t *Table) lineageHolds(o *Object) {
	switch {
	case !o.Recomputable():
		if !o.has(lineageOnly) && (o.state == Stored || o.state == Inline) {
			o.flags |= lineageOnly
			t.lineageBytes += o.size
		}
	case o.state == Stored:
		o.state = Evicted
		t.evicted = append(t.evicted, o)
		t.uncontain(o)
	}
}

// uncontain lets go of what the object's value contains.
func (t *Table) uncontain(o *Object) {
	inner := o.contained
	o.contained = nil
	for _, i := range inner {
		i.pins--
		t.todo = append(t.todo, i)
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
