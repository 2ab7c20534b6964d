package localstore

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/eagleray/eagleray/core/internal/store"
)

func envelope(format store.Format, n int) []byte {
	return store.AppendEnvelope(nil, format, nil, make([]byte, n))
}

// Values without buffers, and small ones, are copied.
func TestLendable_OnlyWhatIsWorthIt(t *testing.T) {
	for _, x := range []struct {
		b    []byte
		want bool
	}{
		{envelope(store.FormatNDArray, minLoan), true},
		{envelope(store.FormatPickle, minLoan), true},
		{envelope(store.FormatPickleRefs, minLoan), true},
		{envelope(store.FormatBytes, minLoan), true},
		{envelope(store.FormatNDArray, 100), false},
		{envelope(store.FormatMsgpack, minLoan), false},
		{envelope(store.FormatError, minLoan), false},
		{nil, false},
		{make([]byte, minLoan-1), false},
	} {
		if got := Lendable(x.b); got != x.want {
			t.Errorf("%d bytes: %v", len(x.b), got)
		}
	}
}

// The garbage collector must not take what is lent, one by one or kept by another loan, and must take it afterwards.
func TestLend_ValueIsLetGoOf_MemoryStaysUntilTheEnd(t *testing.T) {
	for what, lend := range map[string]func(b []byte) uint64{
		"alone": Lend,
		"one of many": func(b []byte) uint64 {
			l := BeginLoans()
			n := l.Lend(b)
			if keep := l.End(); keep != 0 {
				t.Errorf("without anything to keep there is loan %x", keep)
			}
			return n
		},
		"kept by another loan": func(b []byte) uint64 {
			l := BeginLoans()
			l.Keep(b, 1)
			return l.End()
		},
	} {
		before := Loans()
		gone := make(chan struct{})
		n := func() uint64 {
			b := envelope(store.FormatNDArray, 1<<20)
			runtime.AddCleanup((*byte)(unsafe.Pointer(&b[0])), func(int) { close(gone) }, 0)
			return lend(b)
		}()
		if !IsLoan(n) || Loans() != before+1 {
			t.Errorf("%s: %x, %d loans", what, n, Loans()-before)
		}
		runtime.GC()
		runtime.GC()
		select {
		case <-gone:
			t.Fatalf("%s: it was freed while it was lent", what)
		default:
		}
		EndLoan(n)
		EndLoan(n) // once
		if Loans() != before {
			t.Errorf("%s: %d loans are left", what, Loans()-before)
		}
		runtime.GC()
		<-gone
	}
}

// Numbers of views, and those above all loans, are no loans; a number that was not given ends nothing.
func TestIsLoan_OnlyNumbersOfLoans(t *testing.T) {
	for n, want := range map[uint64]bool{0: false, 1: false, loanBit - 1: false, loanBit: true, loanEnd - 1: true, loanEnd: false, ^uint64(0): false} {
		if got := IsLoan(n); got != want {
			t.Errorf("%x: %v", n, got)
		}
	}
	before := Loans()
	if EndLoan(loanEnd - 1); Loans() != before {
		t.Error("a loan that does not exist was ended")
	}
}

// Memory for many loans is given back when all have ended.
func TestEndLoan_AfterMany_MemoryIsGivenBack(t *testing.T) {
	if Loans() != 0 {
		t.Fatalf("other tests have left %d loans", Loans())
	}
	b := envelope(store.FormatBytes, minLoan)
	var all []uint64
	for range keptLoans + 1 {
		all = append(all, Lend(b))
	}
	for i, n := range all {
		if EndLoan(n); Loans() != len(all)-i-1 {
			t.Fatalf("after the end of %d of %d loans there are %d", i+1, len(all), Loans())
		}
	}
	loans.Lock()
	defer loans.Unlock()
	if len(loans.lent) != 0 || len(loans.free) != 0 {
		t.Errorf("memory for %d loans is kept", len(loans.lent))
	}
}
