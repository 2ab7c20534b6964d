package leases

import (
	"fmt"

	"github.com/eagleray/eagleray/core/internal/progress"
)

// The workers of this process's leases note on a page which tasks they begin, see
// package progress. When a worker is lost each task that it had begun has used one
// run; the tasks behind are sent elsewhere and have used none.

// takeSlot returns a slot on the page for a lease, 0 when there is none, and the
// descriptor of the page.
func (p *Pool[T, C]) takeSlot(lease uint64) (slot, fd int) {
	if p.begun == nil {
		var err error
		if p.begun, err = progress.NewLeasePage(); err != nil {
			p.host.Log(fmt.Sprintf("which tasks a lost worker had begun will not be known: %v", err))
			p.begun = new(progress.LeasePage)
		} else {
			p.host.Descriptor(p.begun.FD(), true)
		}
	}
	if slot = p.begun.Take(lease); slot == 0 {
		return 0, -1
	}
	return slot, p.begun.FD()
}

// GiveSlotBack frees a lease's slot. It returns the number of the task that the lease's worker began
// last, 0 for none; false: that is not known.
func (p *Pool[T, C]) GiveSlotBack(l *Lease[T, C]) (seq uint32, known bool) {
	if p.begun == nil {
		return 0, false
	}
	seq, known = p.begun.GiveBack(l.slot, l.ID)
	l.slot = 0
	return seq, known
}

// ClosePage closes the page.
func (p *Pool[T, C]) ClosePage() {
	if p.begun != nil && p.begun.FD() >= 0 {
		p.host.Descriptor(p.begun.FD(), false)
		p.begun.Close()
	}
}
