package refs

import "github.com/eagleray/eagleray/core/fault"

// Events of an object's value: it comes, it is lost, it is freed.

// PutInline gives a new object of ours its value: an envelope of size bytes in this process's memory.
func (t *Table) PutInline(o *Object, envelope []byte, size uint64) {
	o.state, o.value, o.size = Inline, envelope, size
}

// PutStored gives a new object of ours its value, which lies in the arena.
func (t *Table) PutStored(o *Object, size uint64, isError bool) {
	o.state, o.size, o.isError = Stored, size, isError
}

// Complete gives an object its value and tells everybody who waits for it. An
// object that is ready keeps the value that it has.
func (t *Table) Complete(o *Object, state State, value []byte, size uint64, isError bool) {
	if o.state.Ready() {
		return
	}
	t.Feasible(o) // who waits counts it again
	o.state, o.value, o.size, o.isError, o.source, o.fault = state, value, size, isError, nil, nil
	t.settle(o)
}

// Fail ends an object with a fault and tells everybody who waits for it. An
// object that is ready stays as it is.
func (t *Table) Fail(o *Object, f *fault.Error) {
	if o.state.Ready() {
		return
	}
	t.Feasible(o) // who waits counts it again
	o.state, o.fault, o.source, o.isError, o.value = Failed, f, nil, true, nil
	t.settle(o)
}

// FailAll ends every object that is not ready, because the session ends. Threads
// and borrowers that wait are told; tasks are not, for none of them runs any more.
func (t *Table) FailAll(f *fault.Error) {
	t.Each(func(o *Object) bool {
		if o.state.Ready() {
			return true
		}
		o.state, o.fault = Failed, f
		if x := o.watch; x != nil {
			o.watch = nil
			for _, w := range x.waits {
				t.effects.Wake(w)
			}
			t.reply(o, x)
		}
		return true
	})
}

// Infeasible notes that the object's task can never be scheduled as things are.
// Who waits for the object counts that once, however often the reason changes.
func (t *Table) Infeasible(o *Object, f *fault.Error) {
	if o.state.Ready() {
		return
	}
	known := o.state == Infeasible
	o.state, o.fault, o.value = Infeasible, f, nil
	o.flags &^= asked
	if !known {
		t.settle(o)
	}
}

// Feasible undoes Infeasible: the resources came after all.
func (t *Table) Feasible(o *Object) {
	if o.state != Infeasible {
		return
	}
	o.state, o.fault, o.value = Pending, nil, nil
	t.countAgain(o)
}

// Moved notes that an Inline object's value lies in the arena now. Value stays,
// because somebody may be reading it.
func (t *Table) Moved(o *Object) {
	if o.state == Inline {
		o.state = Stored
	}
}

// Forget makes an object Pending again and releases the value that is here.
func (t *Table) Forget(o *Object) {
	o.state, o.value, o.fault, o.isError = Pending, nil, nil, false
}

// MakeToken makes the object the lifetime token of an actor.
func (t *Table) MakeToken(o *Object, actor Source) {
	if o.state == Pending {
		o.state = Inline
	}
	o.source = actor
}

// EndToken releases a token whose actor was not made after all.
func (t *Table) EndToken(o *Object) { o.source = nil }
