package refs

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
)

// Keep ties a resource to an object of ours: release runs once, when nobody
// holds the object any more, when the program frees its value, or when the
// session ends. An object may keep several resources.
func (t *Table) Keep(id ids.Object, release func()) error {
	o := t.Find(id)
	if o == nil || !o.Owned() {
		return fault.New(fault.ObjectLost, "object %s is not owned here", id)
	}
	if t.kept == nil {
		t.kept = map[ids.Object]func(){}
	}
	if first := t.kept[id]; first != nil {
		second := release
		release = func() { first(); second() }
	}
	t.kept[id] = release
	return nil
}

// Kept returns how many objects keep a resource.
func (t *Table) Kept() int { return len(t.kept) }

// ReleaseAllKept releases everything that objects keep, because the session ends.
func (t *Table) ReleaseAllKept() {
	for id := range t.kept {
		t.releaseKept(id)
	}
}

func (t *Table) releaseKept(id ids.Object) {
	if f := t.kept[id]; f != nil {
		delete(t.kept, id)
		t.effects.Released(f)
	}
}
