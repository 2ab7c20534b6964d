package progress

import "testing"

// Whatever a caller says of a page of begun tasks, and whatever a worker leaves there: nothing is written beyond it,
// and what is read is what was written for that lease or is not known.
func FuzzLeasePage(f *testing.F) {
	f.Add(uint64(0), uint64(7), int64(1), uint32(3))
	f.Add(leaseValue(3, 7), uint64(7), int64(-1), uint32(3))
	f.Add(^uint64(0), uint64(1), int64(LeaseSlots), uint32(0))
	f.Fuzz(func(t *testing.T, wild, lease uint64, slot int64, seq uint32) {
		p, err := NewLeasePage()
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		m := OpenMark(p.FD(), int(slot), lease)
		defer m.Close()
		m.Set(seq)
		at := int(slot)
		if m.word == nil {
			at = 1
		} else if w := *leaseWord(p.mem, at); w != leaseValue(seq, lease) {
			t.Fatalf("%x is read back of %d", w, seq)
		}
		*leaseWord(p.mem, at) = wild
		got, known := p.GiveBack(at, lease)
		if known && wild != leaseValue(got, lease) {
			t.Fatalf("%x is believed to say %d", wild, got)
		}
	})
}
