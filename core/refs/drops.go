package refs

import "github.com/eagleray/eagleray/core/ids"

// Drop is one thing that the program let go of: a reference, or what View says.
type Drop struct {
	Object ids.Object
	View   uint64
}

// What Drop.View says when it is no view of a stored value. A batch's number is the object's count.
const (
	DropStream = ^uint64(0)     // the generator of this object
	DropSome   = ^uint64(0) - 1 // some references of a batch: their bits are new
	DropLast   = ^uint64(0) - 2 // all references of a batch: the program does not touch it any more
)

// Drop lets go of what the program has let go of, in this order.
//
// While an owner has not acknowledged a reference that we have just got, what
// that reference came in must not go: then nobody the owner knows of would hold
// it. What cannot have brought a reference goes at once all the same, because an
// owner that is stopped or very busy would keep it for as long.
func (t *Table) Drop(list []Drop) {
	late := t.lateDrops
	if len(list) == 0 && (len(late) == 0 || t.unregistered > 0) {
		return
	}
	if t.unregistered > 0 {
		for _, d := range list {
			if t.broughtNothing(d) {
				t.drop(d)
			} else {
				t.lateDrops = append(t.lateDrops, d)
			}
		}
	} else {
		t.lateDrops = nil
		for _, d := range late {
			t.drop(d)
		}
		for _, d := range list {
			t.drop(d)
		}
		if t.lateDrops == nil && cap(late) <= keptDrops {
			t.lateDrops = late[:0]
		}
	}
	t.CarryOut()
}

// LateDrops returns how many drops wait for owners to acknowledge references.
func (t *Table) LateDrops() int { return len(t.lateDrops) }

// keptDrops is for how many late drops room is kept: a program that lets go of a
// million references at once does so once.
const keptDrops = 1 << 14

// broughtNothing reports whether no reference can have come out of what is let go of.
func (t *Table) broughtNothing(d Drop) bool {
	if d.View == DropStream {
		return false
	}
	if d.View != 0 {
		return true // the references of a batch are looked at one by one
	}
	o := t.Find(d.Object)
	return o == nil || o.broughtNothing()
}

// broughtNothing reports whether no reference can have come out of the object:
// it is ours and contains none. An actor's end would let go of what the actor has given us.
func (o *Object) broughtNothing() bool { return o.Owned() && o.contained == nil && !o.IsToken() }

func (t *Table) drop(d Drop) {
	switch d.View {
	case 0:
		if o := t.Find(d.Object); o != nil {
			t.Unref(o, 1)
		}
	case DropStream:
		t.effects.DropStream(d.Object)
	case DropSome, DropLast:
		t.dropFromBatch(d.Object.Count(), d.View == DropLast)
	default:
		t.effects.DropView(d.View)
	}
}
