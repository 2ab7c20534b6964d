package objects

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
)

// WaitsForRoom reports whether c waits for room for the new object.
func (t *Table) WaitsForRoom(c Holder, id ids.Object) bool { return t.creation(c, id) != nil }

// cancel ends a request for a new object, because the program of its process was
// interrupted. Others get the range that was being cleared for it.
func (t *Table) cancel(r *request) {
	t.dropWindow(r)
	t.remove(r)
	r.done(Place{}, fault.New(fault.BadRequest, "object %s: its process does not wait for room any more", r.id))
	t.changed = true
}
