package refs

// FailAs fails an object because of another object, which is ready and is an
// exception or has failed; for instance, the result of a task fails because of the task's
// argument. An exception in the store is not copied: the session makes an
// envelope that names its object, and o keeps that object alive.
func (t *Table) FailAs(o, from *Object) {
	if o.state.Ready() {
		return
	}
	switch from.state {
	case Inline:
		if len(from.contained) > 0 || !from.Owned() { // references inside have to live for as long as o
			t.Contain(o, from)
		}
		t.Complete(o, Inline, from.value, from.size, true)
	case Stored:
		t.Contain(o, from)
		value := t.effects.Pointer(from)
		t.Complete(o, Inline, value, uint64(len(value)), true)
	default:
		t.Fail(o, from.fault)
	}
}
