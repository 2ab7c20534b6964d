package wire

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
)

// trickle gives what it has in pieces of random size.
type trickle struct {
	r io.Reader
	d *rand.Rand
}

func (t trickle) Read(b []byte) (int, error) { return t.r.Read(b[:min(len(b), 1+t.d.IntN(40_000))]) }

func TestFramer_RandomPieces_SameFramesAndNothingLost(t *testing.T) {
	for seed := range uint64(20) {
		d := rand.New(rand.NewPCG(seed, 3))
		var stream []byte
		var want [][]byte
		for range 40 {
			b := make([]byte, d.IntN(1<<d.IntN(17)+1))
			for i := range b {
				b[i] = byte(d.Uint32())
			}
			want = append(want, b)
			stream = AppendFrame(stream, b)
		}
		// Stops after some frames; another one goes on with the rest.
		f := framer{r: trickle{bytes.NewReader(stream), d}}
		stop := d.IntN(len(want))
		for i, w := range want {
			if i == stop {
				f = framer{r: io.MultiReader(bytes.NewReader(append([]byte(nil), f.rest()...)), f.r)}
			}
			got, err := f.next(1 << 30)
			if err != nil || !bytes.Equal(got, w) {
				t.Fatalf("seed %d: frame %d of %d bytes: %v", seed, i, len(w), err)
			}
		}
		if _, err := f.next(1 << 30); err != io.EOF {
			t.Fatalf("seed %d: %v at the end", seed, err)
		}
	}
}

func TestFramer_Hostile_Error(t *testing.T) {
	for _, c := range []struct {
		in   []byte
		want error
	}{
		{[]byte{1, 0, 0}, io.ErrUnexpectedEOF},
		{[]byte{5, 0, 0, 0, 1}, io.ErrUnexpectedEOF},
		{[]byte{0xff, 0xff, 0xff, 0x7f, 1}, ErrFrameTooLarge},
		{nil, io.EOF},
	} {
		f := framer{r: bytes.NewReader(c.in)}
		if _, err := f.next(1 << 20); !errors.Is(err, c.want) {
			t.Errorf("% x: %v, want %v", c.in, err, c.want)
		}
	}
}
