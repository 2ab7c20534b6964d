package refs

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// This file has both sides of a borrowed object: what the borrower asks its
// owner, and what the owner answers its borrowers.

// Ask asks the owner of a borrowed object for its value. Lost says that the
// store has no copy, although the owner said so.
func (t *Table) Ask(o *Object, lost bool) {
	o.MarkAsked()
	q := ForValue
	if lost {
		q = ForLost
	}
	t.effects.Ask(o, q)
}

// awaitFeasible asks the owner of a borrowed object that no node can make to
// say when it is there after all, because tasks and waits here may wait for it.
// One such question is under way at a time.
func (t *Table) awaitFeasible(o *Object) {
	if t.patient[o.ID] {
		return
	}
	if t.patient == nil {
		t.patient = map[ids.Object]bool{}
	}
	t.patient[o.ID] = true
	t.effects.Ask(o, ForFeasible)
}

// Patient returns how many questions ForFeasible are under way.
func (t *Table) Patient() int { return len(t.patient) }

// Answered is the owner's answer to a question: a value, or why there is none.
func (t *Table) Answered(id ids.Object, q Question, v *wire.RefValue, err error) {
	if q == ForFeasible {
		delete(t.patient, id)
	}
	o := t.Find(id)
	if o == nil {
		return
	}
	switch {
	case err != nil:
		t.Fail(o, fault.From(err))
	case v.Fault != nil:
		f := &fault.Error{Code: fault.Code(v.Fault.Code), Message: v.Fault.Message, Task: v.Fault.Task}
		if f.Code == fault.TaskUnschedulable || f.Code == fault.ActorUnschedulable {
			t.Infeasible(o, f)
			if o.state == Infeasible {
				t.awaitFeasible(o)
			}
			return
		}
		t.Fail(o, f)
	case v.Inline != nil:
		t.Complete(o, Inline, v.Inline, v.Size, v.IsError)
	default:
		t.learnHome(o, v.Home)
		t.Complete(o, Stored, nil, v.Size, v.IsError)
	}
}

// OwnerGone notes that the process at an address has ended. References to its objects that are not ready fail.
func (t *Table) OwnerGone(addr string) {
	var lost []*Object
	t.EachBorrowed(func(o *Object) bool {
		if o.ownerAddr == addr && !o.state.Ready() {
			lost = append(lost, o)
		}
		return true
	})
	for _, o := range lost {
		t.Fail(o, OwnerDied(o.ID))
	}
}

// Unreachable notes that the owner of these references has ended before it could be told of them.
func (t *Table) Unreachable(list [][]byte) {
	for _, raw := range list {
		if id, err := ids.ParseObject(raw); err == nil {
			if o := t.Find(id); o != nil {
				t.Fail(o, OwnerDied(id))
			}
		}
	}
}

// OwnerDied returns the fault of a reference whose owner has ended.
func OwnerDied(id ids.Object) *fault.Error {
	return fault.New(fault.OwnerDied, "object %s is lost: the process that owned it has ended", id)
}

// BorrowerHolds notes that another process has begun to hold these objects of ours.
func (t *Table) BorrowerHolds(who ids.Owner, list [][]byte) error {
	return t.eachOwned(list, func(o *Object) { t.AddBorrower(o, who) })
}

// BorrowerReturns notes that another process holds these objects of ours no longer.
func (t *Table) BorrowerReturns(who ids.Owner, list [][]byte) error {
	err := t.eachOwned(list, func(o *Object) { t.DropBorrower(o, who) })
	t.CarryOut()
	return err
}

// BorrowerGone notes that another process has ended, so that it holds nothing of ours any more.
func (t *Table) BorrowerGone(who ids.Owner) {
	t.DropProcess(who)
	t.dropUnconfirmed(who)
	t.CarryOut()
	t.effects.Needed()
}

// eachOwned calls f with the objects of ours among those that another process
// names. A malformed id is an error; f is called for the other ids all the same.
func (t *Table) eachOwned(list [][]byte, f func(*Object)) (err error) {
	for _, raw := range list {
		id, bad := ids.ParseObject(raw)
		if bad != nil {
			err = fault.New(fault.BadRequest, "%v", bad)
			continue
		}
		if o := t.Find(id); o != nil && o.Owned() {
			f(o)
		}
	}
	return err
}

// Asked is a borrower's question. It is answered at once, or when the object is ready.
func (t *Table) Asked(q *wire.RefWait, m *wire.Message) error {
	id, err := ids.ParseObject(q.ObjectID)
	if err != nil {
		return fault.New(fault.BadRequest, "%v", err)
	}
	o := t.Find(id)
	if o == nil {
		return letGoBy(id)
	}
	if q.Lost || o.state == Evicted {
		t.VerifyCopy(o)
	}
	switch {
	case q.Infeasible && !o.state.Ready():
		t.PatientQuestion(o, m)
	case o.state == Pending:
		t.Question(o, m)
	default:
		t.effects.Reply(m, o)
	}
	return nil
}

// Answer returns what the owner, which runs on this node, answers a borrower of an object that is ready or infeasible.
func (t *Table) Answer(o *Object, node ids.Node) wire.RefValue {
	if o.isError || o.state == Infeasible {
		o.MarkSeen()
	}
	v := wire.RefValue{Size: o.size, IsError: o.isError}
	switch o.state {
	case Inline:
		v.Inline = o.value
	case Stored:
		v.NodeID, v.Home = node[:], t.HomeNumber(o)
	default:
		v.Fault = &wire.FaultBody{Code: string(o.fault.Code), Message: o.fault.Message, Task: o.fault.Task}
	}
	return v
}

// letGoBy returns the error for a borrower that asks for an object which its owner does not
// have any more. That happens in two ways. When a task runs again for its lost result, one
// of its arguments may be gone, because lineage keeps only what the task's caller owns. Or
// the last other holder was killed before the owner had heard of the borrower that asks.
func letGoBy(id ids.Object) error {
	return fault.New(fault.LostBorrowed, "object %s is gone: the process that owned it has let go of it when nobody held a reference any more. "+
		"Either a task that took it runs again because its own result was lost, and its caller, which did not own the object, kept no reference to it: hold one for as long as you need the task's result. "+
		"Or the process that this reference came from was killed within the millisecond or so that the owner needs to hear of a new holder", id)
}

// Missed notes that the store has no copy of an object that was ready. The
// object is ready again, in whatever way, when its owner has seen to it.
func (t *Table) Missed(o *Object) {
	switch {
	case o.state != Stored:
	case o.Owned():
		t.VerifyCopy(o)
	default:
		o.state = Pending
		t.Ask(o, true)
	}
}
