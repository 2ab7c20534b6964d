package refs

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
)

// A table that takes over another's objects counts on after the highest of
// them, and lets go of those that nobody holds here.
func TestTable_Install_CountsOn_SweepDropsWhatNobodyHolds(t *testing.T) {
	old := table()
	old.Reserve(6)
	kept, dropped := old.New(1, 1), old.New(1, 1)
	lent := &Object{ID: ids.NewObject(3, ids.NewWorkerOn(1).Owner(), ids.JobOf(1), 1), ownerAddr: "elsewhere"}
	successor := NewTable(old.self, ids.JobOf(1), "own", new(recorder))
	first, second := &Object{ID: dropped.ID}, &Object{ID: kept.ID}
	for _, o := range []*Object{first, second, lent} {
		successor.Install(o)
	}
	if got := successor.Peek(); got != 9 {
		t.Errorf("the next object is number %d, want 9", got)
	}
	if successor.Find(lent.ID) != lent || successor.Find(kept.ID) != second {
		t.Error("an installed object is not found")
	}
	successor.SkipTo(5)
	if got := successor.Peek(); got != 9 {
		t.Errorf("the count goes back to %d", got)
	}
	second.local = 1
	successor.Sweep()
	if got := successor.Take(); len(got) != 2 || successor.Find(dropped.ID) != nil || successor.Find(lent.ID) != nil || successor.Find(kept.ID) != second {
		t.Errorf("%d objects are let go, want the 2 that nobody holds", len(got))
	}
}
