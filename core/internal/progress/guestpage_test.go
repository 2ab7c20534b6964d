package progress

import (
	"testing"

	"golang.org/x/sys/unix"
)

// begins has the worker of a lease begin a task.
func begins(t *testing.T, g *GuestPage, lease uint64, seq uint32) (slot int) {
	t.Helper()
	slot, fd, err := g.Open(lease)
	if err != nil || slot == 0 {
		t.Fatalf("lease %d has slot %d, %v", lease, slot, err)
	}
	m := OpenMark(fd, slot, lease)
	unix.Close(fd)
	m.Set(seq)
	m.Close()
	return slot
}

func TestGuestPage_EachLease_HasItsWord(t *testing.T) {
	var g GuestPage
	defer g.Close()
	for lease := range uint64(3) {
		if err := g.Take(lease + 10); err != nil {
			t.Fatal(err)
		}
	}
	first := begins(t, &g, 10, 4)
	begins(t, &g, 11, 5)
	for lease, want := range map[uint64]uint32{10: 4, 11: 5, 12: 0} {
		if got, known := g.GiveBack(lease); got != want || !known {
			t.Errorf("lease %d: task %d, %t", lease, got, known)
		}
		if _, known := g.GiveBack(lease); known {
			t.Errorf("lease %d was given back, and its word is still known", lease)
		}
	}
	for lease := range uint64(3) { // the slots serve again, and say nothing of the leases before
		if err := g.Take(lease + 20); err != nil {
			t.Fatal(err)
		}
		if slot, fd, err := g.Open(lease + 20); slot == 0 || slot > first+2 || err != nil {
			t.Errorf("slot %d, %v", slot, err)
		} else {
			unix.Close(fd)
		}
		if got, known := g.GiveBack(lease + 20); got != 0 || !known {
			t.Errorf("a new lease has begun task %d, %t", got, known)
		}
	}
	if g.Len() != 0 {
		t.Errorf("%d leases are left", g.Len())
	}
}

// Nothing is known without a slot.
func TestGuestPage_NoSlot_NothingIsKnown(t *testing.T) {
	var g GuestPage
	if slot, fd, err := g.Open(1); slot != 0 || fd != -1 || err != nil {
		t.Errorf("a lease that nobody has: slot %d, descriptor %d, %v", slot, fd, err)
	}
	if _, known := g.GiveBack(1); known {
		t.Error("of a lease that nobody has something is known")
	}
	for lease := range uint64(LeaseSlots) {
		if err := g.Take(lease); err != nil {
			t.Fatal(err)
		}
	}
	last := uint64(LeaseSlots - 1)
	if slot, fd, err := g.Open(last); slot != 0 || fd != -1 || err != nil {
		t.Errorf("one lease too many has slot %d, descriptor %d, %v", slot, fd, err)
	}
	if _, known := g.GiveBack(last); known || g.Len() != LeaseSlots-1 {
		t.Errorf("known %t, %d leases", known, g.Len())
	}
	g.GiveBack(0)
	if err := g.Take(last); err != nil || begins(t, &g, last, 3) == 0 {
		t.Error("a slot that was given back serves nobody")
	}
	g.Close()
	if slot, fd, err := g.Open(1); slot != 0 || fd != -1 || err != nil || g.Len() != 0 {
		t.Errorf("after the end: slot %d, descriptor %d, %v", slot, fd, err)
	}
}

// withoutDescriptors runs a function while this process can open nothing.
func withoutDescriptors(t *testing.T, f func()) {
	t.Helper()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	low := limit
	low.Cur = 3 // only the standard ones
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			t.Error(err)
		}
	}()
	f()
}

// Without descriptors there is no page. Leases have no slots then, and a page that cannot be opened now may be later.
func TestGuestPage_NoDescriptor_SaysSo(t *testing.T) {
	var g GuestPage
	defer g.Close()
	if err := g.Take(1); err != nil {
		t.Fatal(err)
	}
	var none GuestPage
	withoutDescriptors(t, func() {
		if _, _, err := g.Open(1); err == nil {
			t.Error("a page is opened without a descriptor")
		}
		if none.Take(1) == nil {
			t.Error("a page is made without a descriptor")
		}
	})
	begins(t, &g, 1, 6)
	if got, known := g.GiveBack(1); got != 6 || !known {
		t.Errorf("task %d, %t", got, known)
	}
	if err := none.Take(2); err != nil {
		t.Errorf("the second lease without a page: %v", err)
	}
	if slot, fd, err := none.Open(2); slot != 0 || fd != -1 || err != nil {
		t.Errorf("slot %d, descriptor %d, %v", slot, fd, err)
	}
	if _, known := none.GiveBack(2); known {
		t.Error("without a page something is known")
	}
	none.Close()
}
