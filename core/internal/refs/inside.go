package refs

import "unsafe"

// A program that gets a value of another process again and again would borrow
// and give back everything inside it each time. So a value that is borrowed
// keeps what is inside it, as it does at its owner. It is a matter of speed:
// without it the references are borrowed while the program holds them.

// Got notes that the program is getting a value with references inside. What it
// imports next from the value's memory is inside the value.
func (t *Table) Got(o *Object, envelope []byte) {
	if !o.Owned() && o.contained == nil {
		t.lastGot = lookedAt{o.ID, uintptr(unsafe.Pointer(unsafe.SliceData(envelope))), uintptr(len(envelope))}
	}
}

// keepInside makes the value that was got last keep what is inside it, when the
// references that were imported stand in the memory of that value.
func (t *Table) keepInside(refs []byte, inner []*Object) {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(refs))) - t.lastGot.from // very large when it lies before
	if t.lastGot.n == 0 || at >= t.lastGot.n {
		return
	}
	if o := t.Find(t.lastGot.id); o != nil && !o.Owned() && o.contained == nil {
		t.ContainAll(o, inner)
	}
	t.lastGot = lookedAt{}
}
