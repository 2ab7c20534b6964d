package wire

import (
	"bytes"
	"math"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
)

func TestNesting_BoundedDepth(t *testing.T) {
	for _, open := range []string{"\x91", "\x81\xa1x", "\xdc\x00\x01", "\xdf\x00\x00\x00\x01\x01"} {
		for depth, want := range map[int]bool{1: false, maxNesting: false, maxNesting + 1: true, 1 << 20: true} {
			b := append(bytes.Repeat([]byte(open), depth), 0xc0)
			if got, _ := survey(b, MaxValues); got != want {
				t.Errorf("%x, %d levels: %t", open, depth, got)
			}
		}
	}
	deep := append([]byte{0x96, 1, 1, 60, 1, 0}, bytes.Repeat([]byte{0x91}, 1<<20)...)
	if _, err := ParseMessage(deep); err == nil {
		t.Error("accepted")
	}
}

// A length is not believed before the bytes are there.
func TestCheck_MoreValuesThanBytes_IsRefused(t *testing.T) {
	for _, b := range [][]byte{
		{0xdd, 0xff, 0xff, 0xff, 0xff}, {0xdd, 0, 0, 0, 2, 0xc0}, {0xdf, 0, 0, 0, 1, 0xc0}, {0x92, 0xc0, 0xdd, 0xff, 0xff, 0xff, 0xff},
	} {
		if err := Check(b, MaxValues); err == nil {
			t.Errorf("%x was accepted", b)
		}
	}
	most := append([]byte{0xdc, 0, 3}, 1, 2, 3)
	if err := Check(most, 3); err != nil {
		t.Error(err)
	}
	if err := Check(most, 2); err == nil {
		t.Error("more values than allowed were accepted")
	}
}

// Every form of a value has the size that the decoder finds.
func TestNesting_HeadAgreesWithDecoder(t *testing.T) {
	var values []any
	for _, n := range []int{0, 1, 15, 16, 31, 32, 255, 256, 65535, 65536} {
		values = append(values, make([]byte, n), string(make([]byte, n)), make([]any, n))
		m := map[int]any{}
		for i := range n {
			m[i] = i
		}
		values = append(values, m)
	}
	for _, n := range []int64{0, 127, 128, 255, 256, 65535, 65536, math.MaxUint32, math.MaxUint32 + 1, math.MaxInt64, -1, -32, -33, -129, -40000, math.MinInt32 - 1} {
		values = append(values, n)
	}
	values = append(values, nil, true, false, float32(1), 2.5)
	raw := [][]byte{
		{0xd4, 1, 0}, {0xd5, 1, 0, 0}, append([]byte{0xd8, 1}, make([]byte, 16)...),
		append([]byte{0xc7, 3, 1}, make([]byte, 3)...), append([]byte{0xc8, 0, 3, 1}, make([]byte, 3)...),
	}
	for _, v := range values {
		b, err := msgpack.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		raw = append(raw, b)
	}
	for _, b := range raw {
		left, pos := uint64(1), uint64(0)
		for left > 0 {
			size, children, ok := head(b[pos:])
			if !ok {
				t.Fatalf("%x… at %d: not understood", b[:min(len(b), 8)], pos)
			}
			pos += size
			left += children - 1
		}
		if pos != uint64(len(b)) {
			t.Errorf("%x…: %d of %d bytes", b[:min(len(b), 8)], pos, len(b))
		}
	}
}

func FuzzNesting(f *testing.F) {
	f.Add([]byte{0x92, 0xc0, 0xdd, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		if Check(b, MaxValues) == nil && len(b) < 1<<16 {
			_, _ = msgpack.NewDecoder(bytes.NewReader(b)).DecodeRaw()
			var rows []struct{ A, B, C []uint64 }
			_ = msgpack.Unmarshal(b, &rows)
		}
	})
}

func BenchmarkNesting(b *testing.B) {
	m, err := AppendMessage(nil, Push, TLeaseGrant, 0, 0, LeaseGrant{Addr: "/tmp/x/y/z", Assignment: Assignment{Env: map[string]string{"A": "b"}}})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		survey(m[4:], MaxValues)
	}
}
