package wire

import (
	"bytes"
	"math"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
)

func TestAppend_EqualsMsgpack(t *testing.T) {
	for _, v := range []uint64{0, 1, 127, 128, 255, 256, 65535, 65536, math.MaxUint32, math.MaxUint32 + 1, math.MaxUint64} {
		var got uint64
		b := AppendUint(nil, v)
		if err := msgpack.Unmarshal(b, &got); err != nil || got != v {
			t.Errorf("uint %d: library reads %d, %v", v, got, err)
		}
		r := NewReader(b)
		if x := r.Uint(); x != v || r.Err() != nil {
			t.Errorf("uint %d: reader gives %d, %v", v, x, r.Err())
		}
	}
	for _, n := range []int{0, 1, 31, 32, 255, 256, 65535, 65536, 70000} {
		v := bytes.Repeat([]byte{'x'}, n)
		var bin []byte
		var str string
		if err := msgpack.Unmarshal(AppendBin(nil, v), &bin); err != nil || !bytes.Equal(bin, v) {
			t.Errorf("bin of %d: %v", n, err)
		}
		if err := msgpack.Unmarshal(AppendStr(nil, string(v)), &str); err != nil || str != string(v) {
			t.Errorf("str of %d: %v", n, err)
		}
		rb, rs := NewReader(AppendBin(nil, v)), NewReader(AppendStr(nil, string(v)))
		if !bytes.Equal(rb.Bin(), v) || rs.Str() != string(v) || rb.Err() != nil || rs.Err() != nil {
			t.Errorf("reader, %d bytes: %v %v", n, rb.Err(), rs.Err())
		}
		ints := make([]int, n)
		want, err := msgpack.Marshal(ints)
		if err != nil {
			t.Fatal(err)
		}
		b := AppendArray(nil, n)
		if !bytes.HasPrefix(want, b) {
			t.Errorf("array of %d: head % x, library % x", n, b, want[:5])
		}
	}
}

func TestReader_ValueBeyondItsBound_IsRefused(t *testing.T) {
	for v, fits := range map[uint64]bool{0: true, 300: true, 301: false, math.MaxUint64: false} {
		r := NewReader(AppendUint(nil, v))
		if got := r.UintTo(300); (r.Err() == nil) != fits || fits && got != v || !fits && got != 0 {
			t.Errorf("%d of at most 300 is read as %d, %v", v, got, r.Err())
		}
	}
	for n := range 4 {
		r := NewReader(append(AppendArray(nil, n), 1, 2, 3))
		if r.Fields(2); (r.Err() == nil) != (n == 2) {
			t.Errorf("an array of %d, where 2 are wanted: %v", n, r.Err())
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add(AppendBin(AppendArray(nil, 3), []byte("abc")), uint8(0x1b))
	f.Add([]byte{0xdd, 0xff, 0xff, 0xff, 0xff}, uint8(1))
	f.Fuzz(func(t *testing.T, b []byte, plan uint8) {
		r := NewReader(b)
		for i := 0; i < 8; i++ {
			switch plan >> (i % 4 * 2) & 3 {
			case 0:
				r.Uint()
			case 1:
				if n := r.Array(); n > len(b) {
					t.Fatalf("array of %d in %d bytes", n, len(b))
				}
			case 2:
				r.Bin()
			case 3:
				r.Str()
			}
		}
	})
}
