package refs

// Drop releases what the program has dropped, in this order.
//
// While an owner has not acknowledged a reference that this process has just got, the value
// that brought the reference must not go: otherwise no holder that the owner knows would be
// left. A value that cannot have brought a reference goes at once all the same. Otherwise
// an owner that is stopped or very busy would keep it for as long.
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

// broughtNothing reports whether no reference can have come out of the dropped value.
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
