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
	lent := &Object{ID: ids.NewObject(3, ids.NewWorker().Owner(), ids.JobOf(1), 1), ownerAddr: "elsewhere"}
	heir := NewTable(old.self, ids.JobOf(1), "own", new(recorder))
	first, second := &Object{ID: dropped.ID}, &Object{ID: kept.ID}
	for _, o := range []*Object{first, second, lent} {
		heir.Install(o)
	}
	if got := heir.Peek(); got != 9 {
		t.Errorf("the next object is number %d, want 9", got)
	}
	if heir.Find(lent.ID) != lent || heir.Find(kept.ID) != second {
		t.Error("an installed object is not found")
	}
	heir.SkipTo(5)
	if got := heir.Peek(); got != 9 {
		t.Errorf("the count goes back to %d", got)
	}
	second.local = 1
	heir.Sweep()
	if got := heir.Take(); len(got) != 2 || heir.Find(dropped.ID) != nil || heir.Find(lent.ID) != nil || heir.Find(kept.ID) != second {
		t.Errorf("%d objects are let go, want the 2 that nobody holds", len(got))
	}
}
