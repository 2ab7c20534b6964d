package refs

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
)

// An object that nobody holds any more leaves the table at once, together with
// what only it held (Table.work). What follows from that outside of the table is
// carried out by CarryOut, which the session calls when it has given its events:
// a million objects that go together are one message to the store.

// CarryOut carries out what follows from the references that have gone since the
// last call. This is the one place where the death of an object has consequences.
func (t *Table) CarryOut() {
	unused := t.unused
	t.unused = nil
	for _, k := range unused {
		t.effects.RecipeGone(k)
	}
	dead, evicted := t.freed, t.evicted
	if len(dead)+len(evicted) == 0 {
		return
	}
	t.freed, t.evicted = nil, nil
	t.effects.Needed()
	var free [][]byte
	for _, o := range evicted {
		t.effects.CopyLost(o.ID)
		free = append(free, raw(o.ID))
	}
	for _, o := range dead {
		if t.died(o) {
			free = append(free, raw(o.ID))
		}
	}
	if len(free) > 0 {
		t.effects.Free(free)
	}
}

// died carries out what follows from the death of one object. It reports whether the store has a copy to free.
func (t *Table) died(o *Object) (stored bool) {
	t.refuse(o)
	if o.IsToken() {
		if !o.Owned() {
			t.effects.GiveBack(o)
		}
		t.effects.SourceGone(o.source, o)
		return false
	}
	if (o.isError || o.state == Infeasible) && o.Owned() && !o.has(seen) {
		t.effects.Unseen(o)
	}
	kept := (o.copy != nil || o.state == Stored) && t.effects.DropCopy(o)
	t.releaseKept(o.ID)
	if kept {
		return false
	}
	if o.source != nil {
		t.effects.SourceGone(o.source, o)
	}
	if !o.Owned() {
		t.effects.GiveBack(o)
		return false
	}
	return o.state == Stored || o.Verifying()
}

// refuse answers those who have asked about an object of ours that is dead now. The borrower does not hold
// the object any more, or this process has not heard that it does: in both cases nothing else would answer.
func (t *Table) refuse(o *Object) {
	x := o.watch
	if x == nil || !o.Owned() {
		return
	}
	asked := append(x.questions, x.patient...)
	x.questions, x.patient = nil, nil
	for _, m := range asked {
		t.effects.Refuse(m, letGoBy(o.ID))
	}
}

// FreeValue frees the value of an object of ours, whoever holds references to
// it. A later get of the object fails and says that it was freed, and the object is not
// computed again. An object that is not ready, and an actor's token, stay as they are.
func (t *Table) FreeValue(o *Object) {
	if o.IsToken() || !o.state.Ready() && o.state != Evicted && !o.Verifying() {
		return
	}
	if o.state == Stored || o.Verifying() {
		t.FreeCopy(o.ID)
	}
	t.ForgetValue(o)
	t.SetRecipe(o, nil)
	t.Replace(o, nil)
	t.releaseKept(o.ID)
	t.Fail(o, fault.New(fault.ObjectFreed, "object %s was freed by the program (internal_api.free)", o.ID))
}

// FreeCopy tells the store to free its copy of an object of ours, and releases the copy here.
func (t *Table) FreeCopy(id ids.Object) {
	t.effects.Free([][]byte{raw(id)})
	t.effects.CopyLost(id)
}

// ForgetValue makes an object Pending again and releases its value and its copy here.
func (t *Table) ForgetValue(o *Object) {
	t.effects.CopyLost(o.ID)
	t.Forget(o)
}

func raw(id ids.Object) []byte { return append([]byte(nil), id[:]...) }
