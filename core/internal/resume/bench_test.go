package resume

import (
	"fmt"
	"testing"
)

// BenchmarkFrames carries frames from one session to another in memory: the sender's writes, the frames to bytes and back, the
// receiver's actions, and the acknowledgements. An operation is a frame.
func BenchmarkFrames(b *testing.B) {
	for _, size := range []int{100, 4 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) { frames(b, 1, size) })
	}
	b.Run("100B-of-1000-streams", func(b *testing.B) { frames(b, 1000, 100) })
}

func frames(b *testing.B, streams, size int) {
	from, to := attached(b, Options{})
	list := make([]StreamID, streams)
	for i := range list {
		id, err := from.Open(nil)
		if err != nil {
			b.Fatal(err)
		}
		list[i] = id
	}
	var there, back []byte
	payload := make([]byte, size)
	batch := max(1, min(streams, Batch/size))
	round := func(n int) {
		for i := range batch {
			if k := from.Write(list[(n+i)%streams], payload); k != size {
				b.Fatalf("%d bytes were taken", k)
			}
		}
		var err error
		for from.conn.at < from.log.n || from.ready.first != nil {
			if there, err = carry(from, to, there); err != nil {
				b.Fatal(err)
			}
		}
		for _, a := range to.Actions() {
			if a.Kind == Data {
				to.Consumed(a.Stream, len(a.Bytes))
			}
		}
		if n/batch%16 == 0 {
			to.Advance(to.now + ackAfter)
		}
		if back, err = carry(to, from, back); err != nil {
			b.Fatal(err)
		}
		from.Actions()
	}
	for i := range 100 {
		round(i * batch)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i += batch {
		round(i)
	}
}

// A frame costs no allocation.
func TestFrames_Steady_AllocateNothing(t *testing.T) {
	r := testing.Benchmark(func(b *testing.B) { frames(b, 1000, 100) })
	if r.MemAllocs > uint64(r.N/100) {
		t.Errorf("%d allocations for %d frames", r.MemAllocs, r.N)
	}
}
