package refs

// What another process needs to go on with a table: the owner's identity, the
// count of its newest object, and each object.

// Install adds an object that another process's table had. The object's holders are
// added afterwards, because this process's program, tasks and values hold other objects
// than those of the other process.
func (t *Table) Install(o *Object) {
	if o.ID.Owner() == t.self {
		t.owned.set(o.ID.Count(), o)
		t.next = max(t.next, o.ID.Count())
		return
	}
	t.lend(o)
}

// SkipTo makes New use counts above n.
func (t *Table) SkipTo(n uint64) { t.next = max(t.next, n) }

// Sweep releases the objects that nobody has held since they were installed.
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
