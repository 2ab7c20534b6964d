package submit

import (
	"testing"

	"github.com/eagleray/eagleray/core/internal/progress"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestBegunOf_WorkerMarks_TasksUpToItHaveBegun(t *testing.T) {
	c := newQuiet(t)
	class := c.Templates[template(t, c, "f")].Class
	tasks := []*Task{{Seq: 5}, {Seq: 6}, {Seq: 9}}
	for _, step := range []struct {
		seq  uint32
		want int
	}{{0, 0}, {4, 0}, {5, 1}, {6, 2}, {8, 2}, {9, 3}} {
		l, fd := c.Granted(&wire.LeaseGrant{ClassID: class.ID, LeaseID: 7})
		m := progress.OpenMark(fd, l.Slot(), l.ID)
		if step.seq > 0 {
			m.Set(step.seq)
		}
		m.Close()
		slot := l.Slot()
		if got := c.begunOf(l, tasks); got != step.want {
			t.Errorf("after task %d: %d begun, want %d", step.seq, got, step.want)
		}
		next, _ := c.Granted(&wire.LeaseGrant{ClassID: class.ID, LeaseID: 8})
		if l.Slot() != 0 || next.Slot() != slot {
			t.Errorf("slot %d of the lost lease was not given back: the lease has %d, and the next one gets %d", slot, l.Slot(), next.Slot())
		}
		c.Drop(next, wire.LeaseReturn{})
		c.Drop(l, wire.LeaseReturn{})
	}
}

func TestBegunOf_NothingKnown_TheFirstTaskCounts(t *testing.T) {
	tasks := []*Task{{Seq: 5}, {Seq: 6}}
	c := newQuiet(t)
	if got := c.begunOf(&Lease{ID: 7}, tasks); got != 1 {
		t.Errorf("without a page %d tasks count as begun, want 1", got)
	}
	class := c.Templates[template(t, c, "f")].Class
	l, _ := c.Granted(&wire.LeaseGrant{ClassID: class.ID, LeaseID: 7})
	c.ClosePage()
	if got := c.begunOf(l, tasks); got != 1 {
		t.Errorf("with a page that is closed %d tasks count as begun, want 1", got)
	}
	if got := c.begunOf(&Lease{ID: 7}, nil); got != 0 {
		t.Errorf("of no tasks %d count as begun", got)
	}
	c.Drop(l, wire.LeaseReturn{})
}
