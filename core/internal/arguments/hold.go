package arguments

import (
	"slices"

	"github.com/eagleray/eagleray/core/internal/planted"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wait"
)

// Objects returns all objects that the arguments are or mention.
func (a *Arguments) Objects() []*refs.Object {
	list := slices.Concat(a.deps, a.nested)
	if a.stored != nil {
		list = append(list, a.stored)
	}
	return list
}

// Awaited returns the objects that have to be ready before the task can run.
func (a *Arguments) Awaited() []*refs.Object {
	if a.stored == nil {
		return a.deps
	}
	return append(slices.Clone(a.deps), a.stored)
}

// Unpin lets go of the objects. Forget: nobody needs the arguments any more.
func (a *Arguments) Unpin(table *refs.Table, forget bool) {
	if len(a.deps)+len(a.nested) > 0 && planted.Strikes(planted.KeptPin) {
		return
	}
	for _, o := range a.deps {
		table.Unpin(o)
	}
	for _, o := range a.nested {
		table.Unpin(o)
	}
	if a.stored != nil {
		table.Unpin(a.stored)
	}
	if forget {
		*a = Arguments{}
	}
	table.CarryOut()
}

// Again returns the arguments, pinned, for a task that runs again.
func (a *Arguments) Again(table *refs.Table) Arguments {
	b := Arguments{inline: a.inline, stored: a.stored}
	if b.stored != nil {
		table.Pin(b.stored)
	}
	for _, o := range a.deps {
		if !o.Owned() {
			o = table.Borrow(o.ID, o.OwnerAddr())
		}
		table.Pin(o)
		b.deps = append(b.deps, o)
	}
	for _, o := range a.nested {
		switch {
		case !o.Owned():
			o = table.Borrow(o.ID, o.OwnerAddr())
		case table.Find(o.ID) != o:
			continue // an actor's token: the actor has ended
		}
		table.Pin(o)
		b.nested = append(b.nested, o)
	}
	return b
}

// Owned are the objects of ours among the arguments. What others own is asked for
// again; an actor lives as long as there are handles, not longer.
func (a *Arguments) Owned(table *refs.Table) (list []*refs.Object) {
	add := func(o *refs.Object) {
		if o.Owned() && !o.IsToken() && table.Find(o.ID) == o {
			list = append(list, o)
		}
	}
	for _, o := range a.deps {
		add(o)
	}
	for _, o := range a.nested {
		add(o)
	}
	if a.stored != nil {
		add(a.stored)
	}
	return list
}

// Await has a wait count the arguments by reference that are not ready.
func (a *Arguments) Await(table *refs.Table, w *wait.Wait) {
	for _, o := range a.deps {
		if !o.State().Ready() {
			table.Watch(o, w)
		}
	}
}

// Unwatch keeps a task from being told that its arguments by reference are ready.
func (a *Arguments) Unwatch(table *refs.Table, t refs.Task) {
	for _, o := range a.deps {
		table.UnwatchBy(o, t)
	}
}
