package client

import (
	"testing"

	"github.com/eagleray/eagleray/core/progress"
)

func TestBegunOf_WorkerMarks_TasksUpToItHaveBegun(t *testing.T) {
	c := bare(&Client{})
	defer c.dropBegun()
	tasks := []*task{{seq: 5}, {seq: 6}, {seq: 9}}
	for _, step := range []struct {
		seq  uint32
		want int
	}{{0, 0}, {4, 0}, {5, 1}, {6, 2}, {8, 2}, {9, 3}} {
		l := &lease{id: 7}
		var fd int
		if l.slot, fd = c.takeSlot(l.id); l.slot == 0 {
			t.Fatal("no slot")
		}
		m := progress.OpenMark(fd, l.slot, l.id)
		if step.seq > 0 {
			m.Set(step.seq)
		}
		m.Close()
		slot := l.slot
		if got := c.begunOf(l, tasks); got != step.want {
			t.Errorf("after task %d: %d begun, want %d", step.seq, got, step.want)
		}
		if again, _ := c.takeSlot(8); l.slot != 0 || again != slot {
			t.Errorf("slot %d of the lost lease was not given back: the lease has %d, and the next one gets %d", slot, l.slot, again)
		}
		c.giveSlotBack(&lease{id: 8, slot: slot})
	}
}

func TestBegunOf_NothingKnown_TheFirstTaskCounts(t *testing.T) {
	tasks := []*task{{seq: 5}, {seq: 6}}
	c := bare(&Client{})
	if got := c.begunOf(&lease{id: 7}, tasks); got != 1 {
		t.Errorf("without a page %d tasks count as begun, want 1", got)
	}
	l := &lease{id: 7}
	l.slot, _ = c.takeSlot(l.id)
	c.dropBegun()
	if got := c.begunOf(l, tasks); got != 1 {
		t.Errorf("with a page that is closed %d tasks count as begun, want 1", got)
	}
	if got := c.begunOf(&lease{id: 7}, nil); got != 0 {
		t.Errorf("of no tasks %d count as begun", got)
	}
}
