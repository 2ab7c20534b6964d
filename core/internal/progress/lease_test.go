package progress

import (
	"testing"

	"golang.org/x/sys/unix"
)

func leasePage(t *testing.T) *LeasePage {
	t.Helper()
	p, err := NewLeasePage()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func TestLeasePage_WorkerMarks_CallerReads(t *testing.T) {
	p := leasePage(t)
	slot := p.Take(7)
	if slot == 0 {
		t.Fatal("no slot")
	}
	dup, err := unix.Dup(p.FD())
	if err != nil {
		t.Fatal(err)
	}
	m := OpenMark(dup, slot, 7)
	unix.Close(dup)
	for _, seq := range []uint32{0, 4, 9, 1 << 31} {
		if seq > 0 {
			m.Set(seq)
		}
		if got, known := p.GiveBack(slot, 7); got != seq || !known {
			t.Errorf("task %d had begun, and the page says %d, %t", seq, got, known)
		}
	}
	*m.word = 9 // a stray pointer
	if _, known := p.GiveBack(slot, 7); known {
		t.Error("a stray write is believed")
	}
	m.Close()
	m.Set(3) // takes it and drops it
	p.Close()
	if _, known := p.GiveBack(slot, 7); known || p.FD() != -1 || p.Take(8) != 0 {
		t.Error("a page that is closed tells something, or gives slots")
	}
}

func TestLeasePage_SlotGivenBack_IsTakenAgainAndTellsNothingOfTheLeaseBefore(t *testing.T) {
	p := leasePage(t)
	first := p.Take(1)
	m := OpenMark(p.FD(), first, 1)
	defer m.Close()
	m.Set(2)
	p.GiveBack(first, 1)
	second := p.Take(2)
	if second != first {
		t.Fatalf("slot %d was given back, and slot %d is taken next", first, second)
	}
	if seq, known := p.GiveBack(second, 2); seq != 0 || !known {
		t.Errorf("a fresh slot says %d, %t", seq, known)
	}
	second = p.Take(2)
	m.Set(3)
	if _, known := p.GiveBack(second, 2); known {
		t.Error("what the worker of an earlier lease wrote counts")
	}
}

func TestLeasePage_SlotsRunOut_NoneIsGivenTwice(t *testing.T) {
	p := leasePage(t)
	taken := map[int]bool{}
	for i := range LeaseSlots - 1 {
		slot := p.Take(uint64(i))
		if slot <= 0 || slot >= LeaseSlots || taken[slot] {
			t.Fatalf("slot %d is given to lease %d", slot, i)
		}
		taken[slot] = true
	}
	if slot := p.Take(9999); slot != 0 {
		t.Fatalf("there are more slots than the page has: %d", slot)
	}
	if _, known := p.GiveBack(0, 9999); known {
		t.Error("something is known of a lease without a slot")
	}
}

func TestOpenMark_NotSuchPage_IsIgnored(t *testing.T) {
	small, err := unix.MemfdCreate("small", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(small)
	page := leasePage(t).FD()
	for _, x := range []struct{ fd, slot int }{{-1, 1}, {small, 1}, {page, 0}, {page, LeaseSlots}, {page, -4}} {
		m := OpenMark(x.fd, x.slot, 1)
		m.Set(5) // takes it and drops it
		if m.mem != nil {
			t.Errorf("descriptor %d, slot %d was taken", x.fd, x.slot)
		}
		m.Close()
	}
}
