package client

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// A reference that goes and comes back is, in the end, what it last was: the
// owner hears of both in order.
func TestBorrow_LetGoAndTakenAgain_OwnerKnows(t *testing.T) {
	d := startDaemon(t)
	owner, b := d.driver(), d.driver()
	addr := owner.Info().Addr
	borrowers := func(id ids.Object) int {
		owner.mu.Lock()
		defer owner.mu.Unlock()
		if o := owner.table.Find(id); o != nil {
			return o.Borrowers()
		}
		return -1
	}
	acked := func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.table.Unregistered() == 0
	}
	id, err := owner.Put(&Value{Fmt: FmtBytes, Bufs: [][]byte{[]byte("x")}})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 300 {
		b.mu.Lock()
		var o *refs.Object
		for range 1 + round%3 { // in one go: all of it may wait behind each other
			if o != nil {
				b.table.Unpin(o)
				b.table.CarryOut()
			}
			o = b.table.Borrow(id, addr)
			b.table.Pin(o)
		}
		b.mu.Unlock()
		d.eventually("registered", acked)
		if n := borrowers(id); n != 1 {
			t.Fatalf("round %d: held by %d, want 1", round, n)
		}
		b.mu.Lock()
		b.table.Unpin(o)
		b.table.CarryOut()
		b.mu.Unlock()
		if round%2 == 0 {
			d.eventually("given back", func() bool { return borrowers(id) == 0 })
		}
	}
	d.eventually("given back", func() bool { return borrowers(id) == 0 })
}
