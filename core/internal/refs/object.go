package refs

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
)

// Ready reports whether get returns without waiting for anybody.
func (s State) Ready() bool { return s >= Inline }

func (o *Object) has(f flags) bool { return o.flags&f != 0 }

func (o *Object) set(f flags, on bool) {
	if on {
		o.flags |= f
	} else {
		o.flags &^= f
	}
}

// State says what is known of the value.
func (o *Object) State() State { return o.state }

// IsError reports whether the value is an exception, or the object has failed.
func (o *Object) IsError() bool { return o.isError }

// Asked reports whether the owner of this borrowed object was asked for its value.
func (o *Object) Asked() bool { return o.has(asked) }

// Seen reports whether somebody has looked at the failure that the object is.
func (o *Object) Seen() bool { return o.has(seen) }

// Shared reports whether others may know of the object: it was pinned or
// borrowed, or its reference was written.
func (o *Object) Shared() bool { return o.has(shared) }

// Owned reports whether this process owns the object.
func (o *Object) Owned() bool { return o.ownerAddr == "" }

// OwnerAddr returns the address of the object's owner, "" when this process owns it.
func (o *Object) OwnerAddr() string { return o.ownerAddr }

// Site is the session's number of the place in the program where the reference was made or came in.
func (o *Object) Site() uint32 { return o.site }

// Maker is the session's number of the function that makes the object.
func (o *Object) Maker() uint32 { return o.maker }

// Local returns how many references this process's program holds.
func (o *Object) Local() int32 { return o.local }

// Pins returns how many tasks, containers and replies hold the object.
func (o *Object) Pins() int32 { return o.pins }

// Lineage returns how many recipes need the object.
func (o *Object) Lineage() int32 { return o.lineage }

// Size returns the size of the value's envelope.
func (o *Object) Size() uint64 { return o.size }

// Value returns the envelope of an Inline object. It stays when the object moves
// to the store. Of a failed object it is the fault's envelope, once SetFaultEnvelope was called.
func (o *Object) Value() []byte { return o.value }

// Fault says why an object is Failed or Infeasible.
func (o *Object) Fault() *fault.Error { return o.fault }

// Contained returns the objects that this object's value keeps alive. The slice is the table's.
func (o *Object) Contained() []*Object { return o.contained }

// Source returns where the object comes from, nil when it is ready or this is not known.
func (o *Object) Source() Source { return o.source }

// IsToken reports whether the object is the lifetime token of an actor that this process knows.
func (o *Object) IsToken() bool { return o.source != nil && o.source.IsActor() }

// Copy returns this process's pin of the stored copy, nil when the table holds none.
func (o *Object) Copy() Copy { return o.copy }

// Recipe says how the object can be computed again, nil when nothing was ever recorded.
func (o *Object) Recipe() *Recipe { return o.recipe }

// Borrowers returns how many processes borrow the object.
func (o *Object) Borrowers() int { return len(o.borrowers) }

// HeldBy returns the processes that borrow the object.
func (o *Object) HeldBy() []ids.Owner {
	list := make([]ids.Owner, 0, len(o.borrowers))
	for p := range o.borrowers {
		list = append(list, p)
	}
	return list
}

// MarkAsked notes that the owner was asked for the value.
func (o *Object) MarkAsked() { o.flags |= asked }

// MarkLost notes that the store has no copy of an object that is Verifying.
func (o *Object) MarkLost() { o.flags |= lost }

// Lost reports whether the object is to be made again by a task that has not begun to run again for it.
func (o *Object) Lost() bool { return o.has(lost) && o.Verifying() }

// MarkSeen notes that somebody has looked at the failure that the object is.
func (o *Object) MarkSeen() { o.flags |= seen }

// MarkShared notes that others may know of the object.
func (o *Object) MarkShared() { o.flags |= shared }

// SetSite notes where in the program the reference was made or came in.
func (o *Object) SetSite(site uint32) { o.site = site }

// Arrived notes where in the program the reference of a borrowed object came in first.
func (o *Object) Arrived(site uint32) {
	if o.site == 0 && !o.Owned() {
		o.site = site
	}
}

// SetOrigin notes where in the program the reference was made, and by which function.
func (o *Object) SetOrigin(site, maker uint32) { o.site, o.maker = site, maker }

// SetSource notes where the object comes from.
func (o *Object) SetSource(s Source) { o.source = s }

// SetCopy notes this process's pin of the stored copy, nil for none.
func (o *Object) SetCopy(c Copy) { o.copy = c }

// SetFaultEnvelope keeps the envelope of a failed object's fault, which Value then returns.
func (o *Object) SetFaultEnvelope(env []byte) { o.value = env }

// Verifying reports whether the object had a copy in the store that is being
// looked for, or that its task is about to make again.
func (o *Object) Verifying() bool {
	return o.state == Pending && o.size > 0 && o.source == nil && o.Owned()
}

// broughtNothing reports whether no reference can have come out of the object:
// it is ours and contains none. An actor's end would let go of what the actor has given us.
func (o *Object) broughtNothing() bool { return o.Owned() && o.contained == nil && !o.IsToken() }

// Recomputable reports whether the object can be computed again.
func (o *Object) Recomputable() bool { return o.recipe != nil && o.recipe.why == Whole }
