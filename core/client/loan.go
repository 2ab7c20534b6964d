package client

import (
	"sync"
	"time"
	"unsafe"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/store"
)

// A value in this process's memory is lent to the program instead of copied when
// its buffers are worth it: arrays are views of the memory in which the value came
// or was put. It stays for as long as the program has a view of it, whatever
// becomes of the object, or of the session.

// loanBit marks a Found.View, and a Drop.View, as the number of a loan.
const loanBit = 1 << 62

// minLoan is the size of an envelope from which on lending is cheaper than copying. Blocks of memory of that size and
// more begin where a buffer may.
const minLoan = 512

// loans are those of all sessions of the process. A pointer keeps what it points into.
var loans struct {
	sync.Mutex
	lent []unsafe.Pointer
	free []uint32
}

// isLent reports whether a value is one to be lent.
func isLent(f *Found) bool {
	if f.View != 0 || len(f.Envelope) < minLoan {
		return false
	}
	switch store.Format(f.Envelope[2]) { // behind the head of the array and the version
	case store.FormatNDArray, store.FormatPickle, store.FormatPickleRefs, store.FormatBytes:
		return true
	}
	return false
}

// Lend makes a loan of a value that was found, if it is one to be lent: then its
// View is one that has to be given back like others.
func Lend(f *Found) {
	if isLent(f) {
		loans.Lock()
		defer loans.Unlock()
		f.View = newLoan(unsafe.Pointer(&f.Envelope[0]))
	}
}

// newLoan returns the number of a new loan; loans is locked.
func newLoan(p unsafe.Pointer) uint64 {
	if n := len(loans.free); n > 0 {
		slot := loans.free[n-1]
		loans.free = loans.free[:n-1]
		loans.lent[slot] = p
		return loanBit | uint64(slot)
	}
	loans.lent = append(loans.lent, p)
	return loanBit | uint64(len(loans.lent)-1)
}

// isLoan reports whether a drop's view is the number of a loan.
func isLoan(view uint64) bool { return view >= loanBit && view < DropLast }

// EndLoan takes a loan back.
func EndLoan(view uint64) {
	slot := uint32(view &^ loanBit)
	loans.Lock()
	defer loans.Unlock()
	if int(slot) >= len(loans.lent) || loans.lent[slot] == nil {
		return
	}
	loans.lent[slot] = nil
	loans.free = append(loans.free, slot)
	if len(loans.free) == len(loans.lent) && len(loans.lent) > keptLoans {
		loans.lent, loans.free = nil, nil
	}
}

// keptLoans is for how many loans room is kept when there are none.
const keptLoans = 1 << 10

// Loans returns how many values are lent to the program.
func Loans() int {
	loans.Lock()
	defer loans.Unlock()
	return len(loans.lent) - len(loans.free)
}

// TryGetAll is TryGet for many: found i is told to give. Those to be lent are,
// and one more loan keeps the others; it is returned, 0: there is none. Missing
// is how many are not at hand.
func (c *Client) TryGetAll(list []*ids.Object, give func(i int, f *Found)) (keep uint64, missing int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, 0, c.why
	}
	loans.Lock()
	defer loans.Unlock()
	var kept []*byte
	for i, id := range list {
		o := c.table.Find(*id)
		if o == nil || !o.State().Ready() || far(o) {
			missing++
			continue
		}
		f, err := c.fetch(o, time.Time{}) // which asks nobody for what is at hand
		if err != nil {
			missing++ // a get of it tells
			continue
		}
		switch {
		case isLent(&f):
			f.View = newLoan(unsafe.Pointer(&f.Envelope[0]))
		case f.View == 0 && len(f.Envelope) > 0:
			if kept == nil {
				kept = make([]*byte, 0, len(list)-i)
			}
			kept = append(kept, &f.Envelope[0])
		}
		give(i, &f)
	}
	if kept != nil {
		keep = newLoan(unsafe.Pointer(&kept[0]))
	}
	return keep, missing, nil
}
