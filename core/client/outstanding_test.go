package client

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestOutstanding_RandomCalls_ModelAgrees sends and answers calls at random, with numbers that wrap, and compares
// with a plain list.
func TestOutstanding_RandomCalls_ModelAgrees(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		var s outstanding
		var list []*task // in the order in which they were sent
		seq := uint32(math.MaxUint32 - 20_000)
		growing := true
		for range 20_000 {
			if r.IntN(5000) == 0 { // a successor goes on with the number behind its predecessor's last one
				seq += uint32(r.IntN(3 * maxWindow))
			}
			switch n := r.IntN(100); {
			case n < 50 && growing || n < 25:
				k := &task{seq: seq}
				seq++
				s.add(k)
				list = append(list, k)
			case n == 99 && r.IntN(10) == 0 && len(list) > 0: // a reply was no reply: its call stays outstanding
				k := list[r.IntN(len(list))]
				s.take(k.seq)
				s.add(k)
			case len(list) > 0:
				i := 0
				if r.IntN(3) == 0 {
					i = r.IntN(len(list))
				}
				if seed%2 == 1 { // the oldest call stays
					i = max(i, min(1, len(list)-1))
				}
				if got := s.take(list[i].seq); got != list[i] {
					t.Fatalf("seed %d: take of %d gave %v", seed, list[i].seq, got)
				}
				if s.get(list[i].seq) != nil || s.take(list[i].seq) != nil {
					t.Fatalf("seed %d: %d is there after it was taken", seed, list[i].seq)
				}
				list = slices.Delete(list, i, i+1)
			}
			if r.IntN(500) == 0 {
				growing = !growing
			}
			if s.len() != len(list) || s.get(seq) != nil || len(list) > 0 && s.get(list[0].seq) != list[0] {
				t.Fatalf("seed %d: %d calls, want %d", seed, s.len(), len(list))
			}
		}
		if got := slices.Collect(s.all()); !slices.Equal(got, list) {
			t.Fatalf("seed %d: the calls are not in the order in which they were sent", seed)
		}
		if got := s.takeAll(); !slices.Equal(got, list) || s.len() != 0 || len(s.takeAll()) != 0 {
			t.Fatalf("seed %d: takeAll left or lost calls", seed)
		}
	}
}

// TestOutstanding_OldCalls_BoundedWindow keeps some calls without an answer while very many others come and go.
func TestOutstanding_OldCalls_BoundedWindow(t *testing.T) {
	var s outstanding
	old := []*task{{seq: 1}, {seq: 2}, {seq: 5000}}
	s.add(old[0])
	s.add(old[1])
	for seq := uint32(3); seq < 10*maxWindow; seq++ {
		k := &task{seq: seq}
		if seq == old[2].seq {
			k = old[2]
		}
		s.add(k)
		if k != old[2] && s.take(seq) != k {
			t.Fatalf("call %d is not there", seq)
		}
	}
	if len(s.slots) > maxWindow || s.len() != 3 || len(s.late) != 3 {
		t.Errorf("%d slots hold %d calls, %d of them are late", len(s.slots), s.len(), len(s.late))
	}
	next := &task{seq: 10 * maxWindow}
	s.add(next)
	if got := slices.Collect(s.all()); !slices.Equal(got, append(slices.Clone(old), next)) {
		t.Errorf("the calls are not in the order in which they were sent: %v", got)
	}
	for i, k := range old {
		if s.get(k.seq) != k || s.take(k.seq) != k || s.get(k.seq) != nil || s.len() != 3-i {
			t.Errorf("call %d is not taken once", k.seq)
		}
	}
}

// TestOutstanding_AllAnswered_LargeWindowGoes says which windows are kept for the next calls.
func TestOutstanding_AllAnswered_LargeWindowGoes(t *testing.T) {
	for _, x := range []struct {
		calls uint32
		kept  int
	}{{1, 8}, {8, 8}, {9, 16}, {keptWindow, keptWindow}, {keptWindow + 1, 0}} {
		var s outstanding
		for seq := range x.calls {
			s.add(&task{seq: seq})
		}
		for seq := range x.calls {
			s.take(seq)
		}
		if len(s.slots) != x.kept {
			t.Errorf("after %d calls %d slots are kept, want %d", x.calls, len(s.slots), x.kept)
		}
		last := &task{seq: x.calls}
		if s.add(last); s.get(x.calls) != last || s.len() != 1 {
			t.Errorf("after %d calls the next one is not there", x.calls)
		}
	}
}
