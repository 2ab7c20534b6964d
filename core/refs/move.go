package refs

// What another process needs to go on with a table: the owner's identity, the
// count of its newest object, and each object.

// Install adds an object that another process's table had. Who holds the object
// is told afterwards, because what this process's program, tasks and values hold
// is not what those of the other process held.
func (t *Table) Install(o *Object) {
	if o.ID.Owner() == t.self {
		t.owned.set(o.ID.Count(), o)
		t.next = max(t.next, o.ID.Count())
		return
	}
	t.lend(o)
}

// SkipTo makes New give counts after n.
func (t *Table) SkipTo(n uint64) { t.next = max(t.next, n) }

// Sweep lets go of the objects that nobody has held since they were installed.
func (t *Table) Sweep() {
	var all []*Object
	t.Each(func(o *Object) bool {
		all = append(all, o)
		return true
	})
	for _, o := range all {
		t.check(o)
	}
}
