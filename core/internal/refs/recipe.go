package refs

// NewRecipe returns the recipe of a finished task that took these objects of ours. Record puts it to use.
func NewRecipe(k Task, needs []*Object) *Recipe {
	return &Recipe{task: k, bytes: k.LineageBytes(), needs: needs}
}

// NoRecipe is the recipe of objects that cannot be computed again, and says why.
func NoRecipe(w Why) *Recipe { return missing[w] }

var missing = func() (m [Freed + 1]*Recipe) {
	for w := Forgotten; w <= Freed; w++ {
		m[w] = &Recipe{why: w}
	}
	return m
}()

// Task returns the task that computes the results again, nil when the recipe was dropped.
func (r *Recipe) Task() Task { return r.task }

// Needs returns the objects of ours that the task takes. The slice is the recipe's.
func (r *Recipe) Needs() []*Object { return r.needs }

// Bytes is how much memory the recipe takes.
func (r *Recipe) Bytes() uint64 { return r.bytes }

// Why says whether the recipe can compute anything, and if not, why not.
func (r *Recipe) Why() Why { return r.why }

// Running reports whether the recipe's task runs again.
func (r *Recipe) Running() bool { return r.running }

// list adds a recipe that does not run to the list, as the newest one.
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

// unlist takes a recipe off the list, if it is there.
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

// unlearn notes that one object less has the recipe.
func (t *Table) unlearn(r *Recipe) {
	if r == nil || r.why != Whole {
		return
	}
	r.results--
	t.dropUnneeded(r)
}

// dropUnneeded drops a recipe that no object has any more.
func (t *Table) dropUnneeded(r *Recipe) {
	if r.results <= 0 && !r.running && r.why == Whole {
		t.discard(r, Forgotten)
	}
}

// discard drops a recipe for the given reason. work then checks the objects that only this recipe needed.
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

// uncontain releases what the object's value contains.
func (t *Table) uncontain(o *Object) {
	inner := o.contained
	o.contained = nil
	for _, i := range inner {
		i.pins--
		t.todo = append(t.todo, i)
	}
}
