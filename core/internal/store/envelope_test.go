package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
)

func TestEnvelope_RandomValues_RoundTripAlignedAndValidMsgpack(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	metaLens := []int{0, 1, 200, 255, 256, 65535, 65536}
	for round := range 300 {
		meta := pattern(metaLens[round%len(metaLens)], byte(round))
		bufs := make([][]byte, []int{0, 1, 2, 15, 16, 17, 300}[rng.IntN(7)])
		lens := make([]int, len(bufs))
		for i := range bufs {
			bufs[i] = pattern(rng.IntN(1<<rng.IntN(12)), byte(i))
			lens[i] = len(bufs[i])
		}
		f := Format(rng.IntN(int(lastFormat) + 1))
		prefix := make([]byte, rng.IntN(100))
		b := AppendEnvelope(prefix, f, meta, bufs...)[len(prefix):]
		total, offs := Layout(len(meta), lens, nil)
		if total != len(b) || len(bufs) == 0 && HeaderSize(len(meta), lens) != len(b) {
			t.Fatalf("round %d: %d bytes, Layout says %d, HeaderSize %d", round, len(b), total, HeaderSize(len(meta), lens))
		}
		e, err := Parse(append(b, "trailing"...))
		if err != nil || e.Format != f || !bytes.Equal(e.Meta, meta) || len(e.Bufs) != len(bufs) {
			t.Fatalf("round %d: %v, %+v", round, err, e)
		}
		for i, buf := range bufs {
			if !bytes.Equal(e.Bufs[i], buf) || !bytes.Equal(b[offs[i]:offs[i]+lens[i]], buf) || offs[i]%bufferAlign != 0 {
				t.Fatalf("round %d: buffer %d at %d", round, i, offs[i])
			}
		}
		checkAgainstLibrary(t, b, f, meta, lens)
	}
}

// checkAgainstLibrary holds the header against what the msgpack library reads
// and writes.
func checkAgainstLibrary(t *testing.T, b []byte, f Format, meta []byte, lens []int) {
	t.Helper()
	var h struct {
		_msgpack struct{} `msgpack:",as_array"`
		Version  int
		Format   uint8
		Meta     []byte
		Lens     []int
	}
	if err := msgpack.NewDecoder(bytes.NewReader(b)).Decode(&h); err != nil {
		t.Fatal(err)
	}
	if h.Version != 1 || Format(h.Format) != f || !bytes.Equal(h.Meta, meta) || !reflect.DeepEqual(h.Lens, lens) {
		t.Fatalf("the library reads %+v", h)
	}
	var w bytes.Buffer
	enc := msgpack.NewEncoder(&w)
	enc.UseCompactInts(true)
	h.Meta = append([]byte{}, meta...) // the library writes nil as nil, we as empty
	if err := enc.Encode(&h); err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(b, w.Bytes()) {
		t.Fatalf("the library writes % x, we % x", w.Bytes()[:16], b[:16])
	}
	if e, err := Parse(AppendHeader(nil, f, meta, make([]int, len(lens)))); err != nil || len(e.Bufs) != len(lens) {
		t.Fatalf("empty buffers: %v", err)
	}
}

func TestParse_WiderEncodings_Accepted(t *testing.T) {
	b := []byte{0xdc, 0, 4, 0xcd, 0, 1, 0xcc, 3, 0xc6, 0, 0, 0, 1, 'm', 0xdd, 0, 0, 0, 2,
		0xcf, 0, 0, 0, 0, 0, 0, 0, 2, 0xd3, 0, 0, 0, 0, 0, 0, 0, 1}
	b = append(append(b, make([]byte, 128-len(b))...), 'z')
	copy(b[64:], "xy")
	e, err := Parse(b)
	if err != nil || e.Format != FormatPickle || string(e.Meta) != "m" || string(e.Bufs[0]) != "xy" || string(e.Bufs[1]) != "z" {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err := Parse([]byte{0x94, 1, 0, 0xc0, 0x90}); err != nil || len(e.Meta) != 0 {
		t.Errorf("nil metadata: %+v, %v", e, err)
	}
}

func TestParse_Hostile_Error(t *testing.T) {
	huge := binary.BigEndian.AppendUint64([]byte{0x94, 1, 3, 0xc4, 0, 0x91, 0xcf}, 1<<63+5)
	wrap := binary.BigEndian.AppendUint64([]byte{0x94, 1, 3, 0xc4, 0, 0x91, 0xcf}, ^uint64(0)-20)
	for name, b := range map[string][]byte{
		"nothing":           nil,
		"an integer":        {1},
		"three fields":      {0x93, 1, 0, 0xc4, 0},
		"version 2":         {0x94, 2, 0, 0xc4, 0, 0x90},
		"negative version":  {0x94, 0xff, 0, 0xc4, 0, 0x90},
		"format 12":         {0x94, 1, byte(lastFormat) + 1, 0xc4, 0, 0x90},
		"text as metadata":  {0x94, 1, 0, 0xa0, 0x90},
		"long metadata":     {0x94, 1, 0, 0xc6, 0xff, 0xff, 0xff, 0xff, 0x90},
		"no table":          {0x94, 1, 0, 0xc4, 0},
		"table of 2^32":     {0x94, 1, 0, 0xc4, 0, 0xdd, 0xff, 0xff, 0xff, 0xff, 0},
		"missing length":    {0x94, 1, 0, 0xc4, 0, 0x92, 0},
		"negative length":   {0x94, 1, 0, 0xc4, 0, 0x91, 0xff},
		"length cut off":    {0x94, 1, 0, 0xc4, 0, 0x91, 0xce, 0, 0},
		"buffer past end":   append([]byte{0x94, 1, 0, 0xc4, 0, 0x91, 9}, make([]byte, 65)...),
		"buffer of 2^63":    append(huge, make([]byte, 200)...),
		"buffer that wraps": append(wrap, make([]byte, 200)...),
		"start past end":    {0x94, 1, 0, 0xc4, 0, 0x91, 0},
	} {
		if e, err := Parse(b); !errors.Is(err, ErrBadEnvelope) || e.Bufs != nil || e.Meta != nil {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
	whole := AppendEnvelope(nil, FormatPickle, []byte("meta"), make([]byte, 10), make([]byte, 200))
	for n := range whole {
		if _, err := Parse(whole[:n]); !errors.Is(err, ErrBadEnvelope) {
			t.Errorf("cut to %d of %d bytes: %v", n, len(whole), err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(AppendEnvelope(nil, FormatPickle, []byte("meta"), []byte("one"), nil, make([]byte, 70)))
	f.Add(AppendEnvelope(nil, FormatNDArray, []byte("\x93\xa3<f8\x91\x02\xa1C"), make([]byte, 16)))
	f.Add([]byte{0x94, 1, 1, 0xc4, 3, 0x82, 0xa1, 'a', 0x90})
	f.Add([]byte{0xdc, 0, 4, 1, 0, 0xc0, 0xdd, 0, 0, 0, 1, 0xcf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := Parse(b)
		if slow, err2 := parse(b); !reflect.DeepEqual(e, slow) || (err == nil) != (err2 == nil) {
			t.Errorf("the short way reads %+v (%v), the long one %+v (%v)", e, err, slow, err2)
		}
		if err != nil {
			if !errors.Is(err, ErrBadEnvelope) {
				t.Errorf("untyped error %v", err)
			}
			return
		}
		again, err := Parse(AppendEnvelope(nil, e.Format, e.Meta, e.Bufs...))
		if err != nil || again.Format != e.Format || !bytes.Equal(again.Meta, e.Meta) || len(again.Bufs) != len(e.Bufs) {
			t.Errorf("%+v becomes %+v (%v)", e, again, err)
		}
		for i := range again.Bufs {
			if !bytes.Equal(again.Bufs[i], e.Bufs[i]) {
				t.Errorf("buffer %d differs", i)
			}
		}
		if a, err := ParseNDArray(e); err == nil {
			_, _ = view[float64](a)
			_, _, _ = a.Envelope()
		}
	})
}

func TestEnvelope_WithoutBuffers_NoAllocation(t *testing.T) {
	b := AppendEnvelope(nil, FormatMsgpack, []byte("\x2a"))
	dst := make([]byte, 0, 256)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := Parse(b); err != nil {
			t.Fatal(err)
		}
		dst = AppendEnvelope(dst[:0], FormatMsgpack, b)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkEnvelope(b *testing.B) {
	buf := make([]byte, 1000)
	for _, n := range []int{0, 1, 4} {
		bufs := make([][]byte, n)
		for i := range bufs {
			bufs[i] = buf
		}
		whole := AppendEnvelope(nil, FormatPickle, buf[:100], bufs...)
		b.Run(fmt.Sprintf("Parse/bufs=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(whole); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("Append/bufs=%d", n), func(b *testing.B) {
			dst := make([]byte, 0, len(whole))
			b.ReportAllocs()
			for b.Loop() {
				dst = AppendEnvelope(dst[:0], FormatPickle, buf[:100], bufs...)
			}
		})
	}
}
