package localstore

import (
	"sync"
	"unsafe"

	"github.com/eagleray/eagleray/core/internal/store"
)

// A value in this process's memory is lent to the program instead of copied when
// its buffers are worth it: arrays are views of the memory in which the value came
// or was put. That memory stays for as long as the program has a view of it, whatever
// becomes of the object, or of the session.

// loanBit marks the number of a loan among the numbers of views.
const loanBit = 1 << 62

// loanEnd is above the numbers of all loans. The numbers from there on have other meanings.
const loanEnd = loanBit + 1<<32

// minLoan is the size of an envelope from which on lending is cheaper than copying.
// Blocks of memory of that size and more begin where a buffer may.
const minLoan = 512

// loans are those of all sessions of the process. A pointer keeps what it points into.
var loans struct {
	sync.Mutex
	lent []unsafe.Pointer
	free []uint32
}

// Lendable reports whether an envelope in this process's memory should be lent.
func Lendable(envelope []byte) bool {
	if len(envelope) < minLoan {
		return false
	}
	switch store.Format(envelope[2]) { // behind the head of the array and the version
	case store.FormatNDArray, store.FormatPickle, store.FormatPickleRefs, store.FormatBytes:
		return true
	}
	return false
}

// Lend makes a loan of an envelope and returns its number, which EndLoan takes.
func Lend(envelope []byte) uint64 {
	loans.Lock()
	defer loans.Unlock()
	return newLoan(unsafe.Pointer(&envelope[0]))
}

// Lender makes many loans at once. End must follow.
type Lender struct{ kept []*byte }

// BeginLoans locks the loans for a Lender.
func BeginLoans() Lender {
	loans.Lock()
	return Lender{}
}

// Lend is Lend.
func (l *Lender) Lend(envelope []byte) uint64 { return newLoan(unsafe.Pointer(&envelope[0])) }

// Keep adds an envelope to those that the loan of End keeps. most is how many envelopes may come.
func (l *Lender) Keep(envelope []byte, most int) {
	if l.kept == nil {
		l.kept = make([]*byte, 0, most)
	}
	l.kept = append(l.kept, &envelope[0])
}

// End unlocks the loans. It returns the number of one loan of all kept envelopes, 0 when there are none.
func (l *Lender) End() (keep uint64) {
	defer loans.Unlock()
	if l.kept == nil {
		return 0
	}
	return newLoan(unsafe.Pointer(&l.kept[0]))
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

// IsLoan reports whether a number is that of a loan.
func IsLoan(n uint64) bool { return n >= loanBit && n < loanEnd }

// EndLoan takes a loan back.
func EndLoan(n uint64) {
	slot := uint32(n &^ loanBit)
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

// keptLoans is for how many loans memory is kept when there are none.
const keptLoans = 1 << 10

// Loans returns how many values are lent to the program.
func Loans() int {
	loans.Lock()
	defer loans.Unlock()
	return len(loans.lent) - len(loans.free)
}
