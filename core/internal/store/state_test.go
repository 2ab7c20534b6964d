package store

import (
	"fmt"
	"strings"
	"testing"
)

// states gives what is remembered of the granules, one letter each: unknown, written, mapped.
func states(m *Mapping) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var s strings.Builder
	for _, state := range m.state {
		s.WriteByte("uwm"[state])
	}
	return s.String()
}

// What was done with a range is remembered of the granules that lie in it as a
// whole, and a range is known when every granule that it touches is mapped.
func TestMapping_NoteAndKnown_PartsOfGranules(t *testing.T) {
	m := newMapping(t, 4*granule)
	if m.known(0, granule) {
		t.Error("something is known of a new mapping")
	}
	m.writableAll()
	for _, c := range []struct {
		off, size uint64
		want      string
	}{
		{0, granule - 1, "uuuu"}, {1, granule, "uuuu"}, {0, granule, "muuu"}, {1, 2*granule - 1, "umuu"}, {1, 3*granule - 1, "ummu"},
		{granule - 1, granule + 1, "umuu"}, {0, 4 * granule, "mmmm"}, {3 * granule, granule, "uuum"}, {2 * granule, 0, "uuuu"},
	} {
		m.remember(0, 4*granule, pagesUnknown)
		m.remember(c.off, c.size, pagesMapped)
		if got := states(m); got != c.want {
			t.Errorf("%d+%d: got %s, want %s", c.off, c.size, got, c.want)
		}
	}
	m.remember(0, 4*granule, pagesUnknown)
	m.remember(granule, 2*granule, pagesMapped)
	for _, c := range []struct {
		off, size uint64
		want      bool
	}{
		{granule, 2 * granule, true}, {granule, 1, true}, {3*granule - 1, 1, true}, {granule - 1, 2, false}, {granule, 2*granule + 1, false},
		{3*granule - 1, 2, false}, {0, 1, false}, {3 * granule, granule, false},
	} {
		if got := m.known(c.off, c.size); got != c.want {
			t.Errorf("%d+%d is known: %v", c.off, c.size, got)
		}
	}
}

// A range of small pages is written through the descriptor the first time, and
// through the mapping from the second time on; a small write never maps.
func TestMapping_SecondWrite_MapsTheGranulesThatItTouches(t *testing.T) {
	m := newMapping(t, 8*granule)
	if m.writable(0, mapAfter-1) != nil || states(m) != "" {
		t.Error("a small write is worth a mapping")
	}
	if m.writable(granule, mapAfter) != nil || states(m) != "uwwwwuuu" {
		t.Errorf("the first write: got %s", states(m))
	}
	if m.writable(granule+1, mapAfter) != nil || states(m) != "uwwwwwuu" {
		t.Errorf("a write that touches one more: got %s", states(m))
	}
	if rw := m.writable(granule, mapAfter); len(rw) < 8*granule || states(m) != "ummmmwuu" {
		t.Errorf("the second write: %d bytes, %s", len(rw), states(m))
	}
	if m.writable(granule, mapAfter+1) == nil || states(m) != "ummmmmuu" {
		t.Errorf("the second write of one more: %s", states(m))
	}
	if m.mapped(7*granule, 1, true) == nil || states(m) != "ummmmmum" {
		t.Errorf("at once: %s", states(m))
	}
	for i, b := range m.rw[:8*granule] { // what is said to be mapped can be written
		if b != 0 {
			t.Fatal("byte", i)
		}
	}
	m.rw[7*granule] = 5
	if got, err := m.Slice(7*granule, 1); err != nil || got[0] != 5 {
		t.Errorf("got %v, %v", got, err)
	}
}

// Where zeros became holes nothing is mapped any more: the next write has to make pages.
func TestMapping_Holes_AreNotTakenForMappedPages(t *testing.T) {
	const size = 3 * hugePage
	m := newMapping(t, size)
	m.writableAll()
	m.remember(0, size, pagesMapped)
	src := make([]byte, size)
	src[hugePage+7] = 1
	if err := m.writeParts(0, src, true); err != nil {
		t.Fatal(err)
	}
	if m.known(0, 1) || m.known(2*hugePage, hugePage) || m.known(hugePage-granule, granule) {
		t.Errorf("holes are known as mapped: %s", states(m))
	}
	if m.intact(0, size) {
		t.Error("holes are intact")
	}
}

// A stretch is as many bytes as are alike: whole blocks of zeros, or anything else.
func TestRun_WholeBlocksOfZerosOrTheRest(t *testing.T) {
	const most = 4 * hugePage
	for _, c := range []struct {
		off   uint64
		size  int
		set   []int // bytes that are not zero
		n     uint64
		zeros bool
	}{
		{0, most, nil, most, true}, {0, 1, nil, 1, false}, {0, hugePage, nil, hugePage, true}, {0, hugePage + 1, nil, hugePage, true},
		{0, hugePage - 1, nil, hugePage - 1, false}, {4096, 2 * hugePage, nil, hugePage - 4096, false}, {hugePage, 2 * hugePage, nil, 2 * hugePage, true},
		{0, most, []int{0}, hugePage, false}, {0, most, []int{hugePage - 1}, hugePage, false}, {0, most, []int{hugePage}, hugePage, true},
		{0, most, []int{100, hugePage + 70, 2*hugePage + hugePage/2}, 3 * hugePage, false}, {0, most, []int{hugePage/2 + 64}, hugePage, false},
		{0, most, []int{64}, hugePage, false}, {0, most, []int{hugePage - 65}, hugePage, false}, {0, most, []int{3*hugePage + 5000}, 3 * hugePage, true},
	} {
		b := make([]byte, c.size)
		for _, at := range c.set {
			b[at] = 1
		}
		if n, zeros := run(c.off, b); n != c.n || zeros != c.zeros {
			t.Errorf("%d bytes at %d with %v: %d, %v, want %d, %v", c.size, c.off, c.set, n, zeros, c.n, c.zeros)
		}
	}
}

// Resting lets go of everything outside of what is in use, to whole pages.
func TestMapping_Trim_ForgetsWhatIsMapped(t *testing.T) {
	m := newMapping(t, 4*granule)
	m.writableAll()
	m.remember(0, 4*granule, pagesMapped)
	m.Trim([]Span{{granule, granule}})
	if got := states(m); got != "uuuu" {
		t.Errorf("got %s", got)
	}
}

// The sizes of elements, as numpy writes types of them.
func TestItemSize_EachKind(t *testing.T) {
	for dtype, want := range map[string]int{
		"|b1": 1, "|i1": 1, "<i4": 4, ">u8": 8, "<f2": 2, "<c16": 16, "|S0": 0, "|S7": 7, "<U3": 12, "|V5": 5, "=f8": 8,
		"<M8[ns]": 8, "<m8[10us]": 8, "<m8": 8, "|V2147483647": 2147483647, "<U2147483647": 4 * 2147483647,
		"": -1, "<": -1, "<i": -1, "i4": -1, "<x4": -1, "!i4": -1, "<i-4": -1, "<i4 ": -1, "|V2147483648": -1, "<i4[ns]": -1, "<M8[ns": -1, "<m8[s]x": -1,
	} {
		if got := ItemSize(dtype); got != want {
			t.Errorf("%q: %d, want %d", dtype, got, want)
		}
	}
}

// Numbers and lengths are written in their shortest form and read back, on both sides of each border.
func TestPlain_Numbers_BordersOfTheForms(t *testing.T) {
	for _, c := range []struct {
		n    uint64
		size int
	}{{0, 1}, {127, 1}, {128, 2}, {255, 2}, {256, 3}, {65535, 3}, {65536, 5}, {1<<32 - 1, 5}, {1 << 32, 9}, {1<<64 - 1, 9}} {
		b := appendUint(nil, c.n)
		tok, rest, err := readToken(append(b, 0xc0))
		if len(b) != c.size || uintSize(c.n) != c.size || err != nil || tok.kind != kindUint || tok.n != c.n || len(rest) != 1 {
			t.Errorf("%d: % x, said to take %d, reads as %+v, %v", c.n, b, uintSize(c.n), tok, err)
		}
	}
	for _, c := range []struct{ n, array, bin int }{{0, 1, 2}, {15, 1, 2}, {16, 3, 2}, {255, 3, 2}, {256, 3, 3}, {65535, 3, 3}, {65536, 5, 5}} {
		array, bin := appendArray(nil, c.n), appendBin(nil, c.n)
		if len(array) != c.array || len(bin) != c.bin || arrayHead(c.n) != c.array || binHead(c.n) != c.bin {
			t.Errorf("%d: heads of %d and %d bytes, said to be %d and %d", c.n, len(array), len(bin), arrayHead(c.n), binHead(c.n))
		}
		if tok, _, err := readToken(append(array, make([]byte, c.n)...)); err != nil || tok.kind != kindArray || tok.n != uint64(c.n) {
			t.Errorf("array of %d: %+v, %v", c.n, tok, err)
		}
		if tok, rest, err := readToken(append(bin, make([]byte, c.n)...)); err != nil || tok.kind != kindBytes || len(tok.data) != c.n || len(rest) != 0 {
			t.Errorf("%d bytes: %+v, %v", c.n, tok.kind, err)
		}
		if c.n > 0 {
			for what, head := range map[string][]byte{"array": array, "bytes": bin} {
				if _, _, err := readToken(append(head, make([]byte, c.n-1)...)); err == nil {
					t.Errorf("%s of %d with one less is read", what, c.n)
				}
			}
		}
	}
}

// Every form of an item reads as what it stands for, and not when a byte is missing.
func TestPlain_EachForm_ReadsAsWhatItStandsFor(t *testing.T) {
	for _, c := range []struct {
		b    string
		want any
	}{
		{"\xc0", nil}, {"\xc2", false}, {"\xc3", true}, {"\x7f", int64(127)}, {"\xe0", int64(-32)}, {"\xff", int64(-1)},
		{"\xcc\xff", int64(255)}, {"\xcd\x01\x02", int64(0x102)}, {"\xce\xff\xff\xff\xff", int64(1<<32 - 1)}, {"\xcf\x7f\xff\xff\xff\xff\xff\xff\xff", int64(1<<63 - 1)},
		{"\xcf\x80\x00\x00\x00\x00\x00\x00\x00", uint64(1 << 63)}, {"\xd0\x7f", int64(127)}, {"\xd0\x80", int64(-128)}, {"\xd1\x80\x00", int64(-32768)}, {"\xd1\x7f\xff", int64(32767)},
		{"\xd2\x80\x00\x00\x00", int64(-1 << 31)}, {"\xd3\xff\xff\xff\xff\xff\xff\xff\xfe", int64(-2)}, {"\xd3\x7f\xff\xff\xff\xff\xff\xff\xff", int64(1<<63 - 1)},
		{"\xca\x3f\x80\x00\x00", 1.0}, {"\xcb\x40\x00\x00\x00\x00\x00\x00\x00", 2.0}, {"\xa2ab", "ab"}, {"\xd9\x02ab", "ab"}, {"\xda\x00\x02ab", "ab"}, {"\xdb\x00\x00\x00\x02ab", "ab"},
		{"\xc4\x02ab", []byte("ab")}, {"\xc5\x00\x02ab", []byte("ab")}, {"\xc6\x00\x00\x00\x02ab", []byte("ab")},
		{"\x92\x01\xa1x", []any{int64(1), "x"}}, {"\xdc\x00\x01\xc0", []any{nil}}, {"\xdd\x00\x00\x00\x01\xc0", []any{nil}}, {"\x81\xa1k\x01", map[string]any{"k": int64(1)}},
		{"\xde\x00\x01\xa1k\x01", map[string]any{"k": int64(1)}}, {"\xdf\x00\x00\x00\x01\xa1k\x01", map[string]any{"k": int64(1)}}, {"\x80", map[string]any{}},
		{"\x82\xa1k\x01\x02\xc0", map[any]any{"k": int64(1), int64(2): nil}}, {"\x82\x02\xc0\xa1k\x01", map[any]any{"k": int64(1), int64(2): nil}},
	} {
		if err := scan([]byte(c.b)); err != nil {
			t.Errorf("%x: %v", c.b, err)
			continue
		}
		got, rest, err := decodePlain([]byte(c.b + "\xc3"))
		if fmt.Sprintf("%T%v", got, got) != fmt.Sprintf("%T%v", c.want, c.want) || len(rest) != 1 || err != nil {
			t.Errorf("%x: got %T %v, want %T %v, %v", c.b, got, got, c.want, c.want, err)
		}
		for n := range c.b {
			if scan([]byte(c.b[:n])) == nil {
				t.Errorf("%x, cut to %d bytes, is a value", c.b, n)
			}
			if _, _, err := decodePlain([]byte(c.b[:n])); err == nil {
				t.Errorf("%x, cut to %d bytes, is decoded", c.b, n)
			}
		}
		if scan([]byte(c.b+"\xc3")) == nil {
			t.Errorf("%x with one more byte is a value", c.b)
		}
	}
	for _, size := range []struct {
		b string
		n int
	}{{"\xd4\x05", 1}, {"\xd5\x05", 2}, {"\xd6\x05", 4}, {"\xd7\x05", 8}, {"\xd8\x05", 16}, {"\xc7\x03\x05", 3}, {"\xc8\x00\x03\x05", 3}, {"\xc9\x00\x00\x00\x03\x05", 3}} {
		whole := []byte(size.b + strings.Repeat("x", size.n))
		if err := scan(whole); err != nil {
			t.Errorf("extension %x: %v", size.b, err)
		}
		if scan(whole[:len(whole)-1]) == nil || scan(append(whole, 0)) == nil {
			t.Errorf("extension %x: another length is accepted", size.b)
		}
		if _, _, err := decodePlain(whole); err == nil || !strings.Contains(err.Error(), "extension type 5") {
			t.Errorf("extension %x: got %v", size.b, err)
		}
	}
	if scan([]byte{0xc1}) == nil {
		t.Error("0xc1 is a value")
	}
	deep := func(n int) []byte { return []byte(strings.Repeat("\x91", n) + "\x01") }
	if scan(deep(maxDepth-1)) != nil || scan(deep(maxDepth)) == nil {
		t.Error("the bound on nesting is another one")
	}
	if scan([]byte(strings.Repeat("\x91", maxDepth-1)+"\x90")) == nil {
		t.Error("an empty list may lie deeper")
	}
}
