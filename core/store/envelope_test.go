package store

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
)

func TestEnvelope_RoundTrip_EqualsLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		meta := make([]byte, []int{0, 1, 255, 256, 70000}[r.IntN(5)])
		bufs := make([][]byte, r.IntN(20))
		lens := make([]int, len(bufs))
		for i := range bufs {
			bufs[i] = bytes.Repeat([]byte{byte(i + 1)}, r.IntN(300))
			lens[i] = len(bufs[i])
		}
		b := AppendEnvelope([]byte("before"), FormatPickle, meta, bufs...)[6:]
		total, offs := Layout(len(meta), lens, nil)
		if len(b) != total {
			t.Fatalf("%d bytes, Layout says %d", len(b), total)
		}
		var head []msgpack.RawMessage
		if err := msgpack.Unmarshal(b[:HeaderSize(len(meta), lens)], &head); err != nil || len(head) != 4 {
			t.Fatalf("library: %d fields, %v", len(head), err)
		}
		e, err := Parse(b)
		if err != nil || e.Format != FormatPickle || !bytes.Equal(e.Meta, meta) || len(e.Bufs) != len(bufs) {
			t.Fatalf("parse: %v", err)
		}
		for i := range bufs {
			if !bytes.Equal(e.Bufs[i], bufs[i]) || offs[i]%64 != 0 {
				t.Fatalf("buffer %d at %d", i, offs[i])
			}
		}
	}
}

func TestParse_Truncated_NamesIt(t *testing.T) {
	b := AppendEnvelope(nil, FormatBytes, []byte("meta"), []byte("one"), []byte("two"))
	for n := range b {
		if _, err := Parse(b[:n]); !errors.Is(err, ErrBadEnvelope) {
			t.Fatalf("%d of %d bytes: %v", n, len(b), err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(AppendEnvelope(nil, FormatBytes, []byte("meta"), []byte("one")))
	f.Add([]byte{0x94, 1, 3, 0xc4, 0, 0xdd, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := Parse(b)
		if err != nil && !errors.Is(err, ErrBadEnvelope) {
			t.Fatal(err)
		}
		n := len(e.Meta)
		for _, x := range e.Bufs {
			n += len(x)
		}
		if n > len(b) {
			t.Fatalf("%d bytes out of %d", n, len(b))
		}
	})
}

func TestMapping_SharedBetweenTwo_ReadsWhatWasWritten(t *testing.T) {
	const size = 4 << 20
	fd, err := CreateMemory("test", size)
	if err != nil {
		t.Fatal(err)
	}
	w, err := Map(fd, size)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r, err := Map(fd, size)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for round := range 4 { // cold, noted, mapped, mapped
		data := bytes.Repeat([]byte{byte(round + 1)}, 1<<20)
		if err := w.WriteAt(4096, data[:100], data[100:]); err != nil {
			t.Fatal(err)
		}
		got, err := r.Slice(4096, 1<<20)
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("round %d: %v", round, err)
		}
	}
	if _, err := r.Slice(size-10, 11); !errors.Is(err, ErrOutOfRange) {
		t.Fatal(err)
	}
	if err := w.WriteAt(size-1, []byte("ab")); !errors.Is(err, ErrOutOfRange) {
		t.Fatal(err)
	}
}
