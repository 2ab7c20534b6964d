package client

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestBegun_WorkerMarks_CallerReads(t *testing.T) {
	c := &Client{}
	l := &lease{id: 7}
	var fd int
	if l.slot, fd = c.begunSlot(l.id); l.slot == 0 {
		t.Fatal("no slot")
	}
	dup, err := unix.Dup(fd)
	if err != nil {
		t.Fatal(err)
	}
	m := openMark(dup, l.slot, l.id)
	unix.Close(dup)
	tasks := []*task{{seq: 5}, {seq: 6}, {seq: 9}}
	for _, step := range []struct {
		seq  uint32
		want int
	}{{0, 0}, {4, 0}, {5, 1}, {6, 2}, {8, 2}, {9, 3}} {
		if step.seq > 0 {
			m.set(step.seq)
		}
		slot := l.slot
		if got := c.begunOf(l, tasks); got != step.want {
			t.Errorf("after task %d: %d begun, want %d", step.seq, got, step.want)
		}
		if l.slot != 0 || c.begun.free[len(c.begun.free)-1] != slot {
			t.Error("the slot was not given back")
		}
		l.slot = slot
		c.begun.free = nil
	}
	*m.word = 9 // a stray pointer
	if got := c.begunOf(l, tasks); got != 1 {
		t.Errorf("after a stray write %d tasks count as begun, want 1", got)
	}
	m.close()
	c.dropBegun()
	if l.slot = 3; c.begunOf(l, tasks) != 1 {
		t.Error("without a page the first task counts as begun")
	}
}

func TestBegun_WorkerOfEarlierLease_TellsNothing(t *testing.T) {
	c := &Client{}
	defer c.dropBegun()
	first := &lease{id: 1}
	var fd int
	first.slot, fd = c.begunSlot(1)
	m := openMark(fd, first.slot, 1)
	defer m.close()
	c.lastBegun(first)
	second := &lease{id: 2}
	if second.slot, _ = c.begunSlot(2); second.slot == 0 {
		t.Fatal("no slot")
	}
	if seq, known := c.lastBegun(&lease{id: 2, slot: second.slot}); seq != 0 || !known {
		t.Errorf("a fresh slot says %d, %t", seq, known)
	}
	m.set(3)
	if _, known := c.lastBegun(second); known {
		t.Error("what the worker of an earlier lease wrote counts")
	}
}

func TestBegun_SlotsRunOut_NothingKnown(t *testing.T) {
	c := &Client{}
	defer c.dropBegun()
	for i := range begunSlots - 1 {
		if slot, _ := c.begunSlot(uint64(i)); slot == 0 {
			t.Fatalf("slot %d was refused", i)
		}
	}
	if slot, _ := c.begunSlot(9999); slot != 0 {
		t.Fatal("there are more slots than the page has")
	}
}

func TestOpenMark_NotSuchPage_Ignored(t *testing.T) {
	small, err := unix.MemfdCreate("small", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(small)
	for _, x := range []struct{ fd, slot int }{{-1, 1}, {small, 1}, {small, 0}, {small, begunSlots}, {small, -4}} {
		m := openMark(x.fd, x.slot, 1)
		m.set(5) // takes it and drops it
		if m.mem != nil {
			t.Errorf("descriptor %d, slot %d was taken", x.fd, x.slot)
		}
		m.close()
	}
}
