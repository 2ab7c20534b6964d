package envelope

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/eagleray/eagleray/core/internal/store"
)

// The size that a value says is that of its envelope, with few buffers and with many, and
// what was given comes out again.
func TestSize_AnyNumberOfBuffers_IsThatOfTheEnvelope(t *testing.T) {
	for n := range 3 * usualBufs {
		v := Value{Fmt: uint8(store.FormatPickle), Meta: bytes.Repeat([]byte("m"), 40*n)}
		for i := range n {
			v.Bufs = append(v.Bufs, fmt.Appendf(nil, "%0*d", 1+7*i, i))
		}
		b := v.Envelope(v.Size())
		if len(b) != v.Size() || cap(b) != len(b) {
			t.Errorf("%d buffers: %d bytes, %d reserved, and the size is %d", n, len(b), cap(b), v.Size())
		}
		e, err := store.Parse(b)
		if err != nil || e.Format != store.FormatPickle || !bytes.Equal(e.Meta, v.Meta) || len(e.Bufs) != n {
			t.Fatalf("%d buffers: %+v, %v", n, e, err)
		}
		for i := range n {
			if !bytes.Equal(e.Bufs[i], v.Bufs[i]) {
				t.Errorf("buffer %d of %d is %q", i, n, e.Bufs[i])
			}
		}
	}
}

// A put of a small value costs one allocation, the envelope's.
func TestEnvelope_FewBuffers_AllocatesOnce(t *testing.T) {
	v := Value{Fmt: uint8(store.FormatNDArray), Meta: []byte("meta"), Bufs: [][]byte{make([]byte, 100)}}
	if n := testing.AllocsPerRun(100, func() { _ = v.Envelope(v.Size()) }); n != 1 {
		t.Errorf("%v allocations", n)
	}
}
