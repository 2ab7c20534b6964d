package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

// form is one form of a value, after the table of the msgpack specification.
type form struct {
	from, to byte   // the first bytes of this form
	number   int    // bytes of the number that follows
	fixed    uint64 // bytes that follow it in any case
	inFirst  byte   // the bits of the first byte that are the number, when none follows
	bytes    uint64 // bytes for each of the number
	values   uint64 // values for each of the number
}

var forms = []form{
	{from: 0x00, to: 0x7f}, {from: 0x80, to: 0x8f, inFirst: 15, values: 2}, {from: 0x90, to: 0x9f, inFirst: 15, values: 1},
	{from: 0xa0, to: 0xbf, inFirst: 31, bytes: 1}, {from: 0xc0, to: 0xc0}, {from: 0xc2, to: 0xc3},
	{from: 0xc4, to: 0xc4, number: 1, bytes: 1}, {from: 0xc5, to: 0xc5, number: 2, bytes: 1}, {from: 0xc6, to: 0xc6, number: 4, bytes: 1},
	{from: 0xc7, to: 0xc7, number: 1, fixed: 1, bytes: 1}, {from: 0xc8, to: 0xc8, number: 2, fixed: 1, bytes: 1}, {from: 0xc9, to: 0xc9, number: 4, fixed: 1, bytes: 1},
	{from: 0xca, to: 0xca, fixed: 4}, {from: 0xcb, to: 0xcb, fixed: 8},
	{from: 0xcc, to: 0xcc, fixed: 1}, {from: 0xcd, to: 0xcd, fixed: 2}, {from: 0xce, to: 0xce, fixed: 4}, {from: 0xcf, to: 0xcf, fixed: 8},
	{from: 0xd0, to: 0xd0, fixed: 1}, {from: 0xd1, to: 0xd1, fixed: 2}, {from: 0xd2, to: 0xd2, fixed: 4}, {from: 0xd3, to: 0xd3, fixed: 8},
	{from: 0xd4, to: 0xd4, fixed: 2}, {from: 0xd5, to: 0xd5, fixed: 3}, {from: 0xd6, to: 0xd6, fixed: 5}, {from: 0xd7, to: 0xd7, fixed: 9}, {from: 0xd8, to: 0xd8, fixed: 17},
	{from: 0xd9, to: 0xd9, number: 1, bytes: 1}, {from: 0xda, to: 0xda, number: 2, bytes: 1}, {from: 0xdb, to: 0xdb, number: 4, bytes: 1},
	{from: 0xdc, to: 0xdc, number: 2, values: 1}, {from: 0xdd, to: 0xdd, number: 4, values: 1},
	{from: 0xde, to: 0xde, number: 2, values: 2}, {from: 0xdf, to: 0xdf, number: 4, values: 2}, {from: 0xe0, to: 0xff},
}

// Each of the 256 first bytes is understood as the specification says, with
// every length, and not at all when its number is cut.
func TestHead_EachFirstByte_AsTheSpecificationSays(t *testing.T) {
	known := map[byte]bool{}
	for _, f := range forms {
		for first := int(f.from); first <= int(f.to); first++ {
			known[byte(first)] = true
			for _, n := range []uint64{0, 1, 7, 200, 1<<8 + 3, 1<<16 + 5, 1<<31 + 9} {
				if f.number == 0 {
					n = uint64(byte(first) & f.inFirst)
				}
				n &= 1<<(8*max(f.number, 1)) - 1
				b := []byte{byte(first)}
				b = append(b, binary.BigEndian.AppendUint64(nil, n)[8-f.number:]...)
				size, children, ok := head(b)
				if want := 1 + uint64(f.number) + f.fixed + f.bytes*n; !ok || size != want || children != f.values*n {
					t.Fatalf("%x: %d bytes and %d values, want %d and %d, %t", b, size, children, want, f.values*n, ok)
				}
				for cut := range b {
					if _, _, ok := head(b[:cut]); ok {
						t.Fatalf("%x, cut to %d bytes, is understood", b, cut)
					}
				}
			}
		}
	}
	for first := range 256 {
		if !known[byte(first)] {
			if _, _, ok := head([]byte{byte(first), 0, 0, 0, 0}); ok {
				t.Errorf("%x is understood", first)
			}
		}
	}
}

// What is cut is left to the decoder, which says what is missing; what says
// that it has more than can be is refused.
func TestCheck_Cut_IsLeftToTheDecoder(t *testing.T) {
	for _, b := range [][]byte{nil, {0xd9}, {0xa5, 'a'}, {0xc4, 9, 1}, {0xc1}, {0x91, 0xcf, 1}, {0x92, 0xa1, 'a', 0xa1}} {
		if err := Check(b, MaxValues); err != nil {
			t.Errorf("%x: got %v", b, err)
		}
	}
	for _, c := range []struct {
		b    []byte
		most uint64
		ok   bool
	}{
		{[]byte{0x92, 0, 0}, 2, true}, {[]byte{0x92, 0, 0}, 1, false}, {[]byte{0x92, 0}, 9, false},
		{[]byte{0x81, 0, 0}, 2, true}, {[]byte{0x81, 0, 0}, 1, false}, {[]byte{0x82, 0, 0, 0, 0}, 4, true},
		{append([]byte{0x92, 0x91, 0x90}, 0x93, 1, 2), 9, false}, // the first value is fine, the second is not
		{[]byte{0x90, 0xdd, 0xff, 0xff, 0xff, 0xff}, 9, true},    // only the first value is looked at
	} {
		err := Check(c.b, c.most)
		if (err == nil) != c.ok || err != nil && (!errors.Is(err, ErrBadFrame) || !strings.Contains(err.Error(), "more values")) {
			t.Errorf("%x, at most %d: got %v", c.b, c.most, err)
		}
	}
	if err := Check(bytes.Repeat([]byte{0x91}, 100), MaxValues); err == nil || !strings.Contains(err.Error(), "deeper than 64") {
		t.Errorf("got %v", err)
	}
	// Levels that were left do not count.
	b := []byte{0xdc, 0, 200}
	for range 200 {
		b = append(append(b, bytes.Repeat([]byte{0x91}, maxNesting-1)...), 0)
	}
	if err := Check(b, MaxValues); err != nil {
		t.Errorf("200 values, each as deep as it may be: got %v", err)
	}
}

// A reader reads every form of a value whole, refuses it when a byte is
// missing, and after that gives zeros and tells the first error.
func TestReader_EachFormWholeAndCut(t *testing.T) {
	long := strings.Repeat("x", 70_000)
	read := map[string]func(r *Reader) any{
		"uint":  func(r *Reader) any { return r.Uint() },
		"bin":   func(r *Reader) any { return string(r.Bin()) },
		"str":   func(r *Reader) any { return r.Str() },
		"array": func(r *Reader) any { return r.Array() },
	}
	zero := map[string]any{"uint": uint64(0), "bin": "", "str": "", "array": 0}
	for _, c := range []struct {
		kind string
		b    []byte
		want any
	}{
		{"uint", []byte{0}, uint64(0)}, {"uint", []byte{127}, uint64(127)}, {"uint", []byte{0xcc, 200}, uint64(200)}, {"uint", []byte{0xcd, 1, 2}, uint64(0x102)},
		{"uint", []byte{0xce, 1, 2, 3, 4}, uint64(0x1020304)}, {"uint", []byte{0xcf, 1, 2, 3, 4, 5, 6, 7, 8}, uint64(0x102030405060708)},
		{"bin", []byte{0xc4, 2, 'a', 'b'}, "ab"}, {"bin", []byte{0xc5, 0, 2, 'a', 'b'}, "ab"}, {"bin", []byte{0xc6, 0, 0, 0, 2, 'a', 'b'}, "ab"},
		{"str", []byte{0xa2, 'a', 'b'}, "ab"}, {"str", append([]byte{0xbf}, long[:31]...), long[:31]}, {"str", []byte{0xd9, 2, 'a', 'b'}, "ab"},
		{"str", []byte{0xda, 0, 2, 'a', 'b'}, "ab"}, {"str", append([]byte{0xdb, 0, 1, 0x11, 0x70}, long...), long},
		{"array", []byte{0x92, 0, 0}, 2}, {"array", []byte{0xdc, 0, 2, 0, 0}, 2}, {"array", []byte{0xdd, 0, 0, 0, 2, 0, 0}, 2},
	} {
		r := NewReader(c.b)
		if got := read[c.kind](&r); got != c.want || r.Err() != nil {
			t.Errorf("%s %x…: got %.20v, %v", c.kind, c.b[:1], got, r.Err())
		}
		r = NewReader(c.b[:len(c.b)-1])
		if got := read[c.kind](&r); got != zero[c.kind] || !errors.Is(r.Err(), ErrBadFrame) {
			t.Errorf("%s %x…, cut: got %.20v, %v", c.kind, c.b[:1], got, r.Err())
		}
		for kind, other := range read { // of another kind, and then nothing more is read
			if kind == c.kind {
				continue
			}
			r = NewReader(append(append([]byte{}, c.b...), 0x91, 0xc4, 1, 'x', 0xa1, 'x'))
			if got := other(&r); got != zero[kind] || !errors.Is(r.Err(), ErrBadFrame) {
				t.Errorf("%s read as %s: got %.20v, %v", c.kind, kind, got, r.Err())
			}
			first := r.Err()
			for again, f := range read {
				if got := f(&r); got != zero[again] || r.Err() != first {
					t.Errorf("%s after an error: got %.20v, %v, at first %v", again, got, r.Err(), first)
				}
			}
		}
	}
	r := NewReader([]byte{0xc0, 5})
	if b := r.Bin(); b != nil || r.Err() != nil || r.Uint() != 5 {
		t.Errorf("nil is read as %x, %v", b, r.Err())
	}
	view := NewReader([]byte{0xc4, 1, 'a', 'b'})
	if b := view.Bin(); cap(b) != 1 {
		t.Errorf("a byte string that is appended to would change what follows: capacity %d", cap(b))
	}
}
