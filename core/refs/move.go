package refs

// What another process needs to go on with a table: its identity, its count,
// and each of its objects.

// Install adds an object that another process's table had. Its holders are
// told again: what this process's program, tasks and values hold is not the other's.
func (t *Table) Install(o *Object) {
	if o.ID.Owner() == t.self {
		t.owned.set(o.ID.Count(), o)
		t.next = max(t.next, o.ID.Count())
		return
	}
	t.lend(o)
}

// SkipTo makes New count on after n.
func (t *Table) SkipTo(n uint64) { t.next = max(t.next, n) }

// Sweep lets objects go that nobody has ever held since they were installed.
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
