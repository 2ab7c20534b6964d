package resume

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// Random operations, compared with a slice.
func TestByteQueue_RandomOperations_HasWhatASliceHas(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var p pool
	var q, other byteQueue
	var want, wantOther []byte
	for step := range 20_000 {
		switch r.IntN(4) {
		case 0, 1:
			b := make([]byte, r.IntN(3*blockSize))
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			q.append(&p, b)
			want = append(want, b...)
		case 2:
			n := r.IntN(min(len(want), 4*blockSize) + 1)
			q.discard(&p, n)
			want = want[n:]
		case 3:
			n := r.IntN(min(len(want), 4*blockSize) + 1)
			q.moveTo(&other, &p, n)
			want, wantOther = want[n:], append(wantOther, want[:n]...)
			k := r.IntN(len(wantOther) + 1)
			other.discard(&p, k)
			wantOther = wantOther[k:]
		}
		if len(want) > 1<<20 {
			q.discard(&p, len(want))
			want = nil
		}
		if q.n != len(want) || other.n != len(wantOther) {
			t.Fatalf("step %d: the queues have %d and %d bytes, want %d and %d", step, q.n, other.n, len(want), len(wantOther))
		}
		if at := r.IntN(len(want) + 1); step%16 == 0 && !bytes.Equal(q.appendTo(nil, at, len(want)-at), want[at:]) {
			t.Fatalf("step %d: the queue has other bytes from %d on", step, at)
		}
		if step%16 == 0 && !bytes.Equal(other.appendTo(nil, 0, other.n), wantOther) {
			t.Fatalf("step %d: the other queue has other bytes", step)
		}
	}
	if len(p.free) > maxFree {
		t.Errorf("%d blocks are kept, at most %d may be", len(p.free), maxFree)
	}
	q.discard(&p, q.n)
	if len(q.blocks) != 0 {
		t.Error("an empty queue has blocks")
	}
}
