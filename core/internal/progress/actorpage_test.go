package progress

import (
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
)

func pair(t testing.TB) (*Writer, *Reader) {
	t.Helper()
	fd, r, err := CreateActorPage()
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	w, err := OpenActorPage(fd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.page.close()
		r.Close()
	})
	return w, r
}

func who(n int) ids.Owner { return ids.Owner{byte(n), byte(n >> 8), 7} }

func TestPage_CallersComeBeginAndGo_LatestOfEachIsRead(t *testing.T) {
	w, r := pair(t)
	if seq, known := r.Read().Of(Caller{who(1), 1}); seq != 0 || !known {
		t.Fatalf("an empty page says %d, %t", seq, known)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	slots, want := map[Caller]Slot{}, map[Caller]uint32{}
	for i := range 5000 {
		k := Caller{who(rng.IntN(60)), uint32(rng.IntN(2))}
		s, has := slots[k]
		switch {
		case !has:
			slots[k], want[k] = w.Take(k.Owner, k.Conn), 0
		case rng.IntN(10) == 0:
			w.Free(s)
			delete(slots, k)
			delete(want, k)
		default:
			want[k] = rng.Uint32()
			s.Begin(want[k])
		}
		if i%500 != 0 {
			continue
		}
		n := r.Read()
		for k, seq := range want {
			if got, known := n.Of(k); got != seq || !known {
				t.Fatalf("step %d: %v has begun %d, the page says %d, %t", i, k, seq, got, known)
			}
		}
		if len(n.latest) != len(want) {
			t.Fatalf("step %d: the page names %d callers, there are %d", i, len(n.latest), len(want))
		}
	}
}

func TestPage_MoreCallersThanSlots_WhoIsNotNamedIsNotKnown(t *testing.T) {
	w, r := pair(t)
	for i := range maxSlots + 1 {
		w.Take(who(i), 1).Begin(uint32(i + 1))
	}
	n := r.Read()
	if seq, known := n.Of(Caller{who(maxSlots - 1), 1}); int(seq) != maxSlots || !known {
		t.Errorf("the last one that fits: %d, %t", seq, known)
	}
	if _, known := n.Of(Caller{who(maxSlots), 1}); known {
		t.Error("one without a slot counts as known")
	}
}

func TestPage_WildWrites_AreNeverBelieved(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	refused := 0
	for range 300 {
		w, r := pair(t)
		for i := range 20 {
			w.Take(who(i), 9).Begin(1000)
		}
		for range 1 + rng.IntN(4) {
			at := rng.IntN(headSize + 20*slotSize)
			for i := at; i < min(at+1+rng.IntN(12), headSize+20*slotSize); i++ {
				w.page.mem[i] ^= byte(1 + rng.IntN(255))
			}
		}
		n := r.Read()
		for i := range 20 {
			seq, known := n.Of(Caller{who(i), 9})
			if known && seq != 1000 {
				t.Fatalf("a damaged page says %d of caller %d", seq, i)
			}
			if !known {
				refused++
			}
		}
	}
	if refused == 0 {
		t.Error("no damage was found: the test does nothing")
	}
}

func TestPage_CutAtAnyWrite_NothingTooLow(t *testing.T) {
	// A worker may be killed between any two of its stores while a slot changes hands.
	w, r := pair(t)
	a, b := Caller{who(1), 1}, Caller{who(2), 2}
	s := w.Take(a.Owner, a.Conn)
	s.Begin(41)
	at := s.at
	full := *at
	for cut, change := range []func(){
		func() { at.check = 0 },
		func() { clear(at.who[:]) },
		func() { at.conn = 0 },
		func() { at.seq = checked(0, w.salt) },
		func() { at.who = b.Owner },
		func() { at.conn = b.Conn },
		func() { at.seq = checked(0, w.salt) },
		func() { at.check = identity(b.Owner, b.Conn, w.salt) },
	} {
		change()
		n := r.Read()
		if seq, known := n.Of(b); known && seq != 0 {
			t.Errorf("cut %d: the new caller has begun %d", cut, seq)
		}
	}
	if full.seq == at.seq {
		t.Fatal("the slot did not change")
	}
}

func TestSlot_Begin_CostsNothing(t *testing.T) {
	w, _ := pair(t)
	s := w.Take(who(1), 1)
	if n := testing.AllocsPerRun(1000, func() { s.Begin(5) }); n != 0 {
		t.Errorf("%v allocations per call", n)
	}
}

func BenchmarkSlot_Begin(b *testing.B) {
	w, _ := pair(b)
	s := w.Take(who(1), 1)
	for i := range b.N {
		s.Begin(uint32(i))
	}
}
