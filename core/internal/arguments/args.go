package arguments

import (
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// Arguments is what a task takes.
type Arguments struct {
	inline []byte         // the envelope, unless it is stored
	stored *refs.Object   // large arguments, in the store
	deps   []*refs.Object // arguments by reference
	nested []*refs.Object // objects that there are references to inside of the arguments
}

// Of returns arguments. The objects are pinned, unless the arguments are those of a finished task.
func Of(inline []byte, stored *refs.Object, deps, nested []*refs.Object) Arguments {
	return Arguments{inline, stored, deps, nested}
}

// SetArguments gives a task its arguments, as an envelope.
func (a *Arguments) SetArguments(envelope []byte) { a.inline = envelope }

// SetStoredArguments gives a task its arguments, which lie in the store and are pinned.
func (a *Arguments) SetStoredArguments(o *refs.Object) { a.stored = o }

// AddDependency gives a task an argument by reference, which is pinned.
func (a *Arguments) AddDependency(o *refs.Object) { a.deps = append(a.deps, o) }

// AddNested notes that there is a reference to an object inside of the task's arguments. The object is pinned.
func (a *Arguments) AddNested(o *refs.Object) { a.nested = append(a.nested, o) }

// Dependencies are the arguments by reference.
func (a *Arguments) Dependencies() []*refs.Object { return a.deps }

// Takes reports whether there are arguments by reference or in the store.
func (a *Arguments) Takes() bool { return len(a.deps) > 0 || a.stored != nil }

// Holds reports whether objects are kept for the task, inside of its arguments or as arguments.
func (a *Arguments) Holds() bool { return a.Takes() || len(a.nested) > 0 }

// At returns the object that a worker names by its place: 0 is the object with the large arguments, the arguments by
// reference begin at 1. There may be none, which is nil.
func (a *Arguments) At(i int) *refs.Object {
	if i > 0 && i <= len(a.deps) {
		return a.deps[i-1]
	}
	if i == 0 {
		return a.stored
	}
	return nil
}

// Bad returns an argument that is an exception or lost, nil if all are good.
func (a *Arguments) Bad() *refs.Object {
	for _, o := range a.deps {
		if o.IsError() || o.State() == refs.Failed {
			o.MarkSeen()
			return o
		}
	}
	if a.stored != nil && a.stored.State() == refs.Failed {
		return a.stored
	}
	return nil
}

// A task's small arguments travel in its message. Thousands of them do not fit
// in one: then those that are not tiny go to the store first.

// TooMuch reports whether the arguments are too many bytes for one message.
func (a *Arguments) TooMuch() bool {
	n := 0
	for _, o := range a.deps {
		if o.State() == refs.Inline && movable(o) {
			n += len(o.Value())
		}
	}
	return n > frame.MaxTogether
}

// Movable returns the arguments that can go to the store, each once.
func (a *Arguments) Movable() (list []*refs.Object) {
	seen := map[*refs.Object]bool{}
	for _, o := range a.deps {
		if o.State() == refs.Inline && movable(o) && !seen[o] {
			seen[o] = true
			list = append(list, o)
		}
	}
	return list
}

func movable(o *refs.Object) bool {
	return o.Owned() && !o.IsError() && len(o.Value()) > frame.SmallValue
}

// What a recipe takes beside its task's arguments, and for each argument.
const (
	recipeBytes = 400
	needBytes   = 32
)

// LineageBytes is about how many bytes the arguments take while they are kept for a task's results.
func (a *Arguments) LineageBytes() uint64 {
	return uint64(recipeBytes + cap(a.inline) + needBytes*(len(a.deps)+len(a.nested)))
}
