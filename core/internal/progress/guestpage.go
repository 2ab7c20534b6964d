package progress

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// GuestPage has the words of the leases that a process of another node has of this node's workers. The process
// cannot be sent a page, so the daemon of the workers keeps one in its place, and says what the page says when a worker
// has ended. The zero GuestPage has no lease. It makes its page with the first one.
type GuestPage struct {
	page  *LeasePage     // nil: there was no lease yet
	slots map[uint64]int // by lease; 0: the page had no slot left
}

// Take gives a lease a slot. After an error nothing will be known of the tasks of any lease.
func (g *GuestPage) Take(lease uint64) (err error) {
	if g.page == nil {
		g.slots = make(map[uint64]int)
		if g.page, err = NewLeasePage(); err != nil {
			g.page = new(LeasePage) // it has no slot to give
		}
	}
	g.slots[lease] = g.page.Take(lease)
	return err
}

// Open returns a lease's slot and a descriptor of the page, which the caller has to close. It returns slot 0 and -1 if
// there is no such lease, or the lease has no slot.
func (g *GuestPage) Open(lease uint64) (slot, fd int, err error) {
	if slot = g.slots[lease]; slot == 0 {
		return 0, -1, nil
	}
	if fd, err = unix.FcntlInt(uintptr(g.page.FD()), unix.F_DUPFD_CLOEXEC, 0); err != nil {
		return 0, -1, fmt.Errorf("open the page of begun tasks for lease %x: %w", lease, err)
	}
	return slot, fd, nil
}

// GiveBack takes the slot of a lease back, as LeasePage.GiveBack does. It may be called twice, and for a lease that
// has none.
func (g *GuestPage) GiveBack(lease uint64) (seq uint32, known bool) {
	slot := g.slots[lease]
	if slot == 0 {
		delete(g.slots, lease)
		return 0, false
	}
	delete(g.slots, lease)
	return g.page.GiveBack(slot, lease)
}

// Len returns how many leases have a word here.
func (g *GuestPage) Len() int { return len(g.slots) }

// Close gives the memory back.
func (g *GuestPage) Close() {
	if g.page != nil {
		g.page.Close()
	}
	*g = GuestPage{}
}
