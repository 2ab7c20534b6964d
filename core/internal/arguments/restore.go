package arguments

import (
	"bytes"
	"errors"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/snapshot"
)

// What a successor has to know of the arguments. Objects are named by their ids.

// Write writes the arguments down.
func (a *Arguments) Write(x *snapshot.Task) {
	x.Args = a.inline
	if a.stored != nil {
		x.ArgsRef = bytes.Clone(a.stored.ID[:])
	}
	for _, o := range a.deps {
		x.Deps = append(x.Deps, bytes.Clone(o.ID[:]))
	}
	for _, o := range a.nested {
		x.Nested = append(x.Nested, bytes.Clone(o.ID[:]))
	}
}

// WriteFinished writes the arguments of a finished task down. Its objects are named with
// their owners, because the reference table may not have them.
func (a *Arguments) WriteFinished(x *snapshot.Recipe) {
	x.Task.Deps, x.Task.Nested = nil, nil
	x.Deps, x.Nested = refsOf(a.deps), refsOf(a.nested)
}

func refsOf(list []*refs.Object) (out []snapshot.Ref) {
	for _, o := range list {
		out = append(out, snapshot.Ref{ID: bytes.Clone(o.ID[:]), Addr: o.OwnerAddr()})
	}
	return out
}

// Restore returns the arguments of a task, whose objects the table has. It pins them.
func Restore(x *snapshot.Task, table *refs.Table) (Arguments, error) {
	stored, err1 := Named(x.ArgsRef, table)
	deps, err2 := table.Named(x.Deps)
	nested, err3 := table.Named(x.Nested)
	a := Arguments{x.Args, stored, deps, nested}
	if err := errors.Join(err1, err2, err3); err != nil {
		return Arguments{}, err
	}
	for _, o := range a.Objects() {
		table.Pin(o)
	}
	return a, nil
}

// RestoreFinished returns the arguments of a finished task.
func RestoreFinished(x *snapshot.Recipe, table *refs.Table) (Arguments, error) {
	deps, err1 := mentioned(x.Deps, table)
	nested, err2 := mentioned(x.Nested, table)
	stored, err3 := Named(x.Task.ArgsRef, table)
	return Arguments{x.Task.Args, stored, deps, nested}, errors.Join(err1, err2, err3)
}

// Named returns an object of the table, nil for no id.
func Named(id []byte, table *refs.Table) (*refs.Object, error) {
	if len(id) == 0 {
		return nil, nil
	}
	l, err := table.Named([][]byte{id})
	if err != nil {
		return nil, err
	}
	return l[0], nil
}

// mentioned returns objects that the table may not have.
func mentioned(list []snapshot.Ref, table *refs.Table) (out []*refs.Object, err error) {
	for _, x := range list {
		id, err := ids.ParseObject(x.ID)
		if err != nil {
			return nil, err
		}
		o := table.Find(id)
		if o == nil {
			o = refs.Known(id, refs.Facts{OwnerAddr: x.Addr})
		}
		out = append(out, o)
	}
	return out, nil
}
