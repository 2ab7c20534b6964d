package refs

import "github.com/eagleray/eagleray/core/ids"

// What this process borrows is found by its owner first, because references that
// come together mostly have the same owner.

// of returns the objects that are borrowed from an owner, nil when there are none.
func (t *Table) of(p ids.Owner) *index {
	if t.lent != nil && t.lender == p {
		return t.lent
	}
	x := t.borrowed[p]
	if x != nil {
		t.lender, t.lent = p, x
	}
	return x
}

// lend adds an object that is borrowed.
func (t *Table) lend(o *Object) {
	p := o.ID.Owner()
	x := t.of(p)
	if x == nil {
		n := newIndex()
		x = &n
		t.borrowed[p] = x
		t.lender, t.lent = p, x
	}
	t.foreign -= x.n
	x.set(o.ID.Count(), o)
	t.foreign += x.n
}

// unlend takes a borrowed object out.
func (t *Table) unlend(o *Object) {
	p := o.ID.Owner()
	x := t.of(p)
	if x == nil {
		return
	}
	t.foreign -= x.n
	x.remove(o.ID.Count())
	t.foreign += x.n
	if x.n == 0 {
		delete(t.borrowed, p)
		t.lent = nil
	}
}
