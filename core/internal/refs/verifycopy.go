package refs

import (
	"slices"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
)

// How a lost object comes back. Somebody has found no copy of it in the store:
// this process, a borrower, or a worker that was to take it. Its owner makes it
// Pending, together with the other stored results of its task, so whoever wants
// one of them waits. The owner asks the daemon which of them it has. For those
// that the daemon does not have the task runs again, and writes only these. What
// that task takes is verified first. So a chain is followed back to where it is
// whole, with one question for each of its links, and no worker waits meanwhile.

// MaxCheck is how many objects one question to the store names.
const MaxCheck = 10_000

// VerifyCopy asks whether an object of ours that was reported lost still has a
// copy. Of an evicted object it asks, too: then its task runs again.
func (t *Table) VerifyCopy(o *Object) {
	if o.state != Stored && o.state != Evicted {
		return
	}
	t.verify(o)
	for _, x := range t.effects.Siblings(o) {
		if x.state == Stored {
			t.verify(x)
		}
	}
	t.CheckCopies()
}

// verify makes an object of ours Pending while the daemon looks for its copy in
// the store. The answer ends that, or the object's task runs again.
func (t *Table) verify(o *Object) {
	o.state, o.source = Pending, nil
	o.flags &^= lost
	t.unverified = append(t.unverified, o)
}

// VerifyLater lets the next CheckCopies verify a restored object, which is Pending.
func (t *Table) VerifyLater(o *Object) { t.unverified = append(t.unverified, o) }

// Unverified returns the objects that the daemon has to be asked about. The slice is the table's.
func (t *Table) Unverified() []*Object { return t.unverified }

// CheckCopies asks the daemon which copies it has, unless a question is under
// way. By then the daemon has heard of everything that was freed before, so it
// does not answer about a copy that is written later.
func (t *Table) CheckCopies() {
	if t.asking || len(t.unverified) == 0 {
		return
	}
	list := t.unverified[:min(len(t.unverified), MaxCheck)]
	if t.asking = t.effects.Check(list); t.asking {
		t.unverified = slices.Clone(t.unverified[len(list):])
	}
}

// Checked is the daemon's answer: which of the listed objects it does not have.
func (t *Table) Checked(list []*Object, lacks [][]byte, err error) {
	t.asking = false
	missing := make(map[ids.Object]bool, len(lacks))
	for _, raw := range lacks {
		if id, e := ids.ParseObject(raw); e == nil {
			missing[id] = true
		}
	}
	var lost []*Object
	for _, o := range list {
		switch {
		case t.Find(o.ID) != o || !o.Verifying():
		case missing[o.ID]:
			lost = append(lost, o)
		case err != nil:
			t.Fail(o, fault.From(err))
		default:
			t.verified(o)
		}
	}
	for _, o := range lost {
		o.MarkLost()
		t.effects.CopyLost(o.ID) // the copy that was
	}
	for _, o := range lost {
		if o.Verifying() {
			t.effects.Recompute(o)
		}
	}
	t.CheckCopies()
	t.CarryOut()
}

// verified notes that the store has the copy after all.
func (t *Table) verified(o *Object) {
	o.state = Stored
	t.settle(o)
	t.check(o)
}

// ToRecompute returns the recipe by which an object of ours, whose copy is lost,
// is to be computed again. It is nil when there is nothing to do: the object is
// ready again or has failed, or the recipe's task runs already. When that task
// has ended the object is looked at.
func (t *Table) ToRecompute(o *Object) *Recipe {
	switch {
	case o.value != nil && !o.isError: // it was small, and went to the store as an argument among many
		o.state = Inline
		t.settle(o)
		return nil
	case !o.Recomputable():
		t.FailUnrecoverable(o)
		return nil
	case o.recipe.running:
		return nil
	}
	return o.recipe
}
