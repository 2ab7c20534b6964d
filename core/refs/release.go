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
		if t.bury(o) {
			free = append(free, raw(o.ID))
		}
	}
	if len(free) > 0 {
		t.effects.Free(free)
	}
}

// bury carries out what follows from the death of one object. It reports whether the store has a copy to free.
func (t *Table) bury(o *Object) (stored bool) {
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

// FreeValue lets the value of an object of ours go, whoever holds references to
// it. Who gets the object from now on is told that it was freed, and it is not
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

// FreeCopy has the store free its copy of an object of ours, and lets go of the copy here.
func (t *Table) FreeCopy(id ids.Object) {
	t.effects.Free([][]byte{raw(id)})
	t.effects.CopyLost(id)
}

// ForgetValue makes an object Pending again and lets go of its value and of its copy here.
func (t *Table) ForgetValue(o *Object) {
	t.effects.CopyLost(o.ID)
	t.Forget(o)
}

func raw(id ids.Object) []byte { return append([]byte(nil), id[:]...) }
