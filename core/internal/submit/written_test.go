package submit

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// What a worker may have left in the store is freed when its task fails; a
// task that was never sent has left nothing.
func TestFreeWritten_OnlyWhatWasSent(t *testing.T) {
	c := newQuiet(t)
	result := func(first uint64, index uint32) string {
		id := ids.NewObject(first+uint64(index)-1, c.Self, c.Job, index)
		return string(id[:])
	}
	c.mu.Lock()
	c.freeWritten(&Task{First: 100, Returns: 1})
	c.freeWritten(&Task{First: 150, Returns: 0, Seq: 1}) // a generator without a result of its own
	c.freeWritten(&Task{First: 200, Returns: 2, Seq: 1})
	c.freeWritten(&Task{First: 300, Returns: 1, Seq: 1})
	c.mu.Unlock()
	freed := map[string]bool{}
	for _, m := range c.pushed {
		for _, id := range m.(wire.ObjRefs).ObjectIDs {
			freed[string(id)] = true
		}
	}
	if len(freed) != 3 || len(c.pushed) != 2 || !freed[result(200, 1)] || !freed[result(200, 2)] || !freed[result(300, 1)] {
		t.Errorf("%d objects are freed by %d messages, want 3 by 2", len(freed), len(c.pushed))
	}
}

// The results of a task that could not be scheduled are awaited again once its
// arguments are there: there may be what it needs by now.
func TestDepReady_InfeasibleTask_IsAwaitedAgain(t *testing.T) {
	c := newQuiet(t)
	tm := template(t, c, "f")
	argument := submitText(t, c, tm, "argument")
	out := submitText(t, c, tm, "x", argument)
	c.mu.Lock()
	o := c.table.Find(out)
	waits := TaskOf(o.Source())
	alter(o, func(f *refs.Facts) { f.State = refs.Infeasible })
	c.mu.Unlock()
	c.mu.Lock()
	waits.Waiting = 2
	c.depReady(waits)
	if o.State() != refs.Infeasible || waits.Waiting != 1 {
		t.Errorf("one of two arguments is there: state %v, %d are missing", o.State(), waits.Waiting)
	}
	c.depReady(waits)
	if o.State() != refs.Pending {
		t.Errorf("both arguments are there: state %v, want pending", o.State())
	}
	c.mu.Unlock()
}
