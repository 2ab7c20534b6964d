package localstore

import (
	"errors"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/store"
)

// Only a view of another process's object in the arena stays when its last hold ends, in a worker that goes on.
func TestRelease_OnlyWhatTheNextTaskMayUse_StaysPinned(t *testing.T) {
	for what, x := range map[string]struct {
		change func(n *node, v *View)
		idle   int // views that stay
		left   int // holds
	}{
		"another's object":            {func(*node, *View) {}, 1, 0},
		"somebody else looks, too":    {func(_ *node, v *View) { v.holds = 2 }, 0, 1},
		"its owner has freed it":      {func(_ *node, v *View) { v.freed = true }, 0, 0},
		"it lies in a file":           {func(_ *node, v *View) { v.file = new(store.FileView) }, 0, 0},
		"the session has ended":       {func(n *node, _ *View) { n.s.End(errors.New("end")) }, 0, 0},
		"a new copy is mapped":        {func(n *node, v *View) { n.s.mapped[v.id] = &View{} }, 0, 0},
		"an object of this process":   {func(n *node, v *View) { n.s.Join(v.id.Owner(), n.table) }, 0, 0},
		"a process that is no worker": {func(n *node, _ *View) { n.s.keepsIdle = false }, 0, 0},
	} {
		n := newNode(t, true)
		v := n.view(foreign(5))
		x.change(n, v)
		n.s.Release(v)
		if n.s.Count().Idle != x.idle || v.holds != x.left {
			t.Errorf("%s: %d views stay and %d holds are left, want %d and %d", what, n.s.Count().Idle, v.holds, x.idle, x.left)
		}
		if gone := n.pinCount() == 0; gone != (x.idle+x.left == 0) {
			t.Errorf("%s: it is unpinned: %v", what, gone)
		}
	}
}

// A view of an older copy leaves the newer one's place in the table.
func TestUnhold_ANewCopyIsMapped_ItStays(t *testing.T) {
	n := newNode(t, true)
	v := n.view(foreign(5))
	later := &View{id: v.id}
	n.s.mapped[v.id] = later
	if n.s.Unhold(v); n.s.mapped[v.id] != later {
		t.Error("the newer view is forgotten")
	}
}

// The next task gets the same view without a question, and the owner's word that the value is freed ends it.
func TestRelease_NextTask_AsksNobody(t *testing.T) {
	n := newNode(t, true)
	v := n.view(foreign(5))
	for range 3 {
		n.s.Release(v)
		if again, p := n.s.Pin(v.id); again != v || p != nil || n.s.Count().Idle != 0 {
			t.Fatalf("%+v, %v", again, p)
		}
	}
	n.s.ValueFreed(v.id)
	if n.pinCount() != 1 || !v.freed {
		t.Error("it goes while a task looks at it")
	}
	if n.s.Release(v); n.pinCount() != 0 {
		t.Error("a freed value stays for the next task")
	}
	o := n.borrowed(7) // the table holds its view for the next get
	n.s.KeepFor(o, n.view(o.ID))
	n.s.Unhold(ViewOf(o))
	if n.s.ValueFreed(o.ID); o.Copy() != nil || n.pinCount() != 0 {
		t.Error("the table keeps a view of a freed value")
	}
	w := n.view(foreign(6))
	n.s.Release(w)
	if n.s.ValueFreed(w.id); n.pinCount() != 0 {
		t.Error("an idle view stays though its value is freed")
	}
}

// Views that have been idle for long enough go, and the timer is set for the next one.
func TestIdle_TimePasses_TheOldestGoFirst(t *testing.T) {
	n := newNode(t, true)
	n.s.SetTimes(Times{Idle: time.Hour})
	for i := range uint64(3) {
		n.s.Release(n.view(foreign(i)))
		n.passes(20 * time.Minute)
	}
	if n.s.Count().Idle != 2 || n.s.Has(foreign(0)) { // after one hour
		t.Fatalf("%+v", n.s.Count())
	}
	n.passes(19 * time.Minute)
	if n.s.Count().Idle != 2 {
		t.Errorf("a view goes before its time: %+v", n.s.Count())
	}
	n.passes(time.Minute)
	if n.s.Count().Idle != 1 || !n.s.Has(foreign(2)) {
		t.Errorf("%+v", n.s.Count())
	}
	n.passes(time.Hour)
	if n.s.Count() != (Counts{}) || len(n.timers) != 1 || n.timers[0].set {
		t.Errorf("%+v, %d timers", n.s.Count(), len(n.timers))
	}
	n.s.Release(n.view(foreign(7)))
	if n.passes(time.Hour); n.pinCount() != 0 {
		t.Error("the timer is not set again")
	}
}

// When there are many idle views, those that were looked at last stay.
func TestIdle_Many_TheLatestStay(t *testing.T) {
	n := newNode(t, true)
	for i := range uint64(idleMost + 10) {
		n.s.Release(n.view(foreign(i)))
	}
	if n.s.Count().Idle != idleMost || n.s.Has(foreign(9)) || !n.s.Has(foreign(10)) {
		t.Errorf("%+v", n.s.Count())
	}
}

// Views leave the list at its ends and in its middle, and what put wrote last is forgotten with its view.
func TestIdle_TakenOutAnywhere_TheOthersStayInOrder(t *testing.T) {
	for at, want := range [][]uint64{{1, 2}, {0, 2}, {0, 1}} {
		n := newNode(t, true)
		var list []*View
		for i := range uint64(3) {
			v := n.view(foreign(i))
			list = append(list, v)
			n.s.Release(v)
		}
		n.s.idle.written = list[1]
		n.s.unpinIdle(list[at])
		if there := n.s.idle.written != nil; there != (at != 1) {
			t.Errorf("without view %d, what was written last is known: %v", at, there)
		}
		var forward, back []uint64
		for v := n.s.idle.first; v != nil; v = v.newer {
			forward = append(forward, v.id.Count())
		}
		for v := n.s.idle.last; v != nil; v = v.older {
			back = append(back, v.id.Count())
		}
		if len(forward) != 2 || forward[0] != want[0] || forward[1] != want[1] || len(back) != 2 || back[0] != want[1] || back[1] != want[0] || n.s.idle.n != 2 {
			t.Errorf("without view %d the list is %v, backwards %v, of %d", at, forward, back, n.s.idle.n)
		}
		n.s.UnpinUnused()
		if n.s.idle.n != 0 || n.s.idle.first != nil || n.s.idle.last != nil || n.s.Count() != (Counts{}) {
			t.Errorf("left: %+v", n.s.Count())
		}
	}
}
