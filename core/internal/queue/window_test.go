package queue

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// call is what the windows of these tests hold.
type call struct{ seq uint32 }

// TestWindow_RandomCalls_ModelAgrees sends and answers calls at random, with numbers that wrap, and compares
// with a plain list.
func TestWindow_RandomCalls_ModelAgrees(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		var s Window[call]
		var list []*call // in the order in which they were sent
		seq := uint32(math.MaxUint32 - 20_000)
		growing := true
		for range 20_000 {
			if r.IntN(5000) == 0 { // a successor goes on with the number behind its predecessor's last one
				seq += uint32(r.IntN(3 * maxWindow))
			}
			switch n := r.IntN(100); {
			case n < 50 && growing || n < 25:
				k := &call{seq: seq}
				seq++
				s.Add(k.seq, k)
				list = append(list, k)
			case n == 99 && r.IntN(10) == 0 && len(list) > 0: // a reply was no reply: its call stays outstanding
				k := list[r.IntN(len(list))]
				s.Take(k.seq)
				s.Add(k.seq, k)
			case len(list) > 0:
				i := 0
				if r.IntN(3) == 0 {
					i = r.IntN(len(list))
				}
				if seed%2 == 1 { // the oldest call stays
					i = max(i, min(1, len(list)-1))
				}
				if got := s.Take(list[i].seq); got != list[i] {
					t.Fatalf("seed %d: take of %d gave %v", seed, list[i].seq, got)
				}
				if s.Get(list[i].seq) != nil || s.Take(list[i].seq) != nil {
					t.Fatalf("seed %d: %d is there after it was taken", seed, list[i].seq)
				}
				list = slices.Delete(list, i, i+1)
			}
			if r.IntN(500) == 0 {
				growing = !growing
			}
			if s.Len() != len(list) || s.Get(seq) != nil || len(list) > 0 && s.Get(list[0].seq) != list[0] {
				t.Fatalf("seed %d: %d calls, want %d", seed, s.Len(), len(list))
			}
		}
		if got := slices.Collect(s.All()); !slices.Equal(got, list) {
			t.Fatalf("seed %d: the calls are not in the order in which they were sent", seed)
		}
		if got := s.TakeAll(); !slices.Equal(got, list) || s.Len() != 0 || len(s.TakeAll()) != 0 {
			t.Fatalf("seed %d: takeAll left or lost calls", seed)
		}
	}
}

// TestWindow_OldCalls_BoundedWindow keeps some calls without an answer while very many others come and go.
func TestWindow_OldCalls_BoundedWindow(t *testing.T) {
	var s Window[call]
	old := []*call{{seq: 1}, {seq: 2}, {seq: 5000}}
	s.Add(old[0].seq, old[0])
	s.Add(old[1].seq, old[1])
	for seq := uint32(3); seq < 10*maxWindow; seq++ {
		k := &call{seq: seq}
		if seq == old[2].seq {
			k = old[2]
		}
		s.Add(k.seq, k)
		if k != old[2] && s.Take(seq) != k {
			t.Fatalf("call %d is not there", seq)
		}
	}
	if len(s.slots) > maxWindow || s.Len() != 3 || len(s.late) != 3 {
		t.Errorf("%d slots hold %d calls, %d of them are late", len(s.slots), s.Len(), len(s.late))
	}
	next := &call{seq: 10 * maxWindow}
	s.Add(next.seq, next)
	if got := slices.Collect(s.All()); !slices.Equal(got, append(slices.Clone(old), next)) {
		t.Errorf("the calls are not in the order in which they were sent: %v", got)
	}
	for i, k := range old {
		if s.Get(k.seq) != k || s.Take(k.seq) != k || s.Get(k.seq) != nil || s.Len() != 3-i {
			t.Errorf("call %d is not taken once", k.seq)
		}
	}
}

// TestWindow_AllAnswered_LargeWindowGoes says which windows are kept for the next calls.
func TestWindow_AllAnswered_LargeWindowGoes(t *testing.T) {
	for _, x := range []struct {
		calls uint32
		kept  int
	}{{1, 8}, {8, 8}, {9, 16}, {keptWindow, keptWindow}, {keptWindow + 1, 0}} {
		var s Window[call]
		for seq := range x.calls {
			s.Add(seq, &call{seq: seq})
		}
		for seq := range x.calls {
			s.Take(seq)
		}
		if len(s.slots) != x.kept {
			t.Errorf("after %d calls %d slots are kept, want %d", x.calls, len(s.slots), x.kept)
		}
		last := &call{seq: x.calls}
		if s.Add(last.seq, last); s.Get(x.calls) != last || s.Len() != 1 {
			t.Errorf("after %d calls the next one is not there", x.calls)
		}
	}
}

// A window whose calls were answered keeps no map of the many that were older than it.
func TestWindow_AllAnswered_MapOfOldCallsGoes(t *testing.T) {
	var w Window[int]
	call, n := new(int), uint32(3*maxWindow)
	for seq := range n {
		w.Add(seq, call)
	}
	if len(w.late) == 0 {
		t.Fatal("no call is older than the window")
	}
	for seq := range n {
		if w.Take(seq) != call {
			t.Fatalf("call %d is not there", seq)
		}
	}
	if w.late != nil || w.Len() != 0 {
		t.Errorf("a map for old calls is left; %d calls", w.Len())
	}
}
