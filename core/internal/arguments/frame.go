package arguments

import (
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// Where the arguments are, as workers read it.

// AppendTask writes where the arguments of a task are, which are ready. Small values by reference go along while there is room.
func (a *Arguments) AppendTask(b []byte, table *refs.Table) []byte {
	b = a.begin(b, table)
	room := frame.MaxInFrame
	for _, o := range a.deps {
		if o.State() == refs.Inline {
			if room -= len(o.Value()); room < 0 {
				b = appendOwner(b, o, table)
				continue
			}
		}
		b = appendPlace(b, o, table)
	}
	return b
}

// AppendRegistration writes where the arguments of an actor's constructor are. The cluster's state keeps what is
// written. What is in a store or not ready the worker asks its owner for.
func (a *Arguments) AppendRegistration(b []byte, table *refs.Table) []byte {
	b = a.begin(b, table)
	room := frame.MaxTogether
	for _, o := range a.deps {
		if o.State() != refs.Inline || o.IsError() {
			b = frame.AppendStored(b, &o.ID, o.Size(), table.AddrOf(o))
		} else if room -= len(o.Value()); room >= 0 {
			b = appendPlace(b, o, table)
		} else {
			b = appendOwner(b, o, table)
		}
	}
	return b
}

// begin writes the arguments that are no references, and how many references follow.
func (a *Arguments) begin(b []byte, table *refs.Table) []byte {
	if a.stored != nil {
		b = appendPlace(b, a.stored, table)
	} else {
		b = frame.AppendInline(b, a.inline)
	}
	return frame.AppendCount(b, len(a.deps))
}

// appendPlace encodes where a ready object is, or was: one that is lost, or
// could not be computed again, the worker will not find.
func appendPlace(b []byte, o *refs.Object, table *refs.Table) []byte {
	if o.State() == refs.Inline {
		return frame.AppendInline(b, o.Value())
	}
	return frame.AppendStored(b, &o.ID, o.Size(), table.AddrOf(o))
}

// appendOwner encodes that the worker is to ask the object's owner for it.
func appendOwner(b []byte, o *refs.Object, table *refs.Table) []byte {
	return frame.AppendStored(b, &o.ID, 0, table.AddrOf(o))
}
