package access

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// Find returns the object of an id that the program holds.
func (a *Objects) Find(id ids.Object) (*refs.Object, error) {
	if a.closed {
		return nil, a.why
	}
	o := a.table.Find(id)
	switch {
	case o != nil:
	case id.Owner() == a.self:
		return nil, fault.New(fault.ObjectLost, "object %s was freed: its last reference is gone", id)
	default:
		return nil, fault.New(fault.BadRequest, "object %s is not known here: it belongs to another session", id)
	}
	switch {
	case (o.State() == refs.Pending || o.State() == refs.Infeasible) && !o.Asked() && !o.Owned():
		a.table.Ask(o, false) // of an infeasible object the owner may know better by now
	case o.State() == refs.Evicted:
		a.table.VerifyCopy(o)
	}
	return o, nil
}

// lookUp returns the objects of a list, in memory that scratched takes back; mu held.
func (a *Objects) lookUp(list []*ids.Object) ([]*refs.Object, error) {
	n := len(list)
	objs := a.scratch
	a.scratch = nil
	if cap(objs) < n {
		objs = make([]*refs.Object, n)
	}
	objs = objs[:n]
	for i, id := range list {
		o, err := a.Find(*id)
		if err != nil {
			a.scratched(objs)
			return nil, err
		}
		objs[i] = o
	}
	return objs, nil
}

// scratched takes back the memory of a list that lookUp returned.
func (a *Objects) scratched(objs []*refs.Object) {
	clear(objs)
	if cap(objs) <= keptScratch {
		a.scratch = objs
	}
}
