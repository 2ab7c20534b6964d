package spill

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

// readParts reads an object part by part.
func readParts(t *testing.T, r *Record) []byte {
	t.Helper()
	var got []byte
	for off := uint64(0); off < r.Size(); off += PartSize {
		if err := r.ReadPart(off, func(b []byte) error {
			got = append(got, b...)
			return nil
		}); err != nil {
			t.Fatalf("part at %d of %d: %v", off, r.Size(), err)
		}
	}
	return got
}

func TestReadPart_AllParts_AreWhatWasWritten(t *testing.T) {
	for name, s := range map[string]*Store{"page cache": open(t, Options{}), "direct": past(t, nil)} {
		var items []Item
		for i, n := range []int{1, bypassFrom, PartSize - 1, PartSize, PartSize + 1, 2*PartSize + 77} {
			items = append(items, item(uint64(i), inPages(uint64(i), n)))
		}
		rs, err := s.Write(items)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range rs {
			if got := readParts(t, r); !r.HasParts() || !bytes.Equal(got, items[i].Bytes) {
				t.Errorf("%s: object %d of %d bytes comes as %d other bytes", name, i, len(items[i].Bytes), len(got))
			}
		}
	}
}

// A changed byte is noticed in the part that has it, and in no other.
func TestReadPart_ByteChanges_PartFails(t *testing.T) {
	s := open(t, Options{})
	rs, err := s.Write([]Item{item(1, noise(1, 3*PartSize-5))})
	if err != nil {
		t.Fatal(err)
	}
	path, off, _ := rs[0].Raw()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, at := range []uint64{PartSize, 2*PartSize - 1} {
		var b [1]byte
		if _, err := f.ReadAt(b[:], int64(off+at)); err != nil {
			t.Fatal(err)
		}
		b[0] ^= 4
		if _, err := f.WriteAt(b[:], int64(off+at)); err != nil {
			t.Fatal(err)
		}
		for i := range uint64(3) {
			err := rs[0].ReadPart(i*PartSize, func([]byte) error { return nil })
			if wrong := i == 1; errors.Is(err, ErrCorrupt) != wrong {
				t.Errorf("byte %d changed, part %d: %v", at, i, err)
			}
		}
		b[0] ^= 4
		if _, err := f.WriteAt(b[:], int64(off+at)); err != nil {
			t.Fatal(err)
		}
	}
	if err := rs[0].ReadPart(0, func([]byte) error { return io.ErrClosedPipe }); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the reader's error becomes %v", err)
	}
}

func TestReadPart_NoSuchPart_IsAnError(t *testing.T) {
	s := open(t, Options{})
	rs, err := s.Write([]Item{item(1, noise(1, PartSize+5)), item(2, text(PartSize+5))})
	if err != nil {
		t.Fatal(err)
	}
	for i, off := range []uint64{1, 2 * PartSize, 1 << 63} {
		if err := rs[0].ReadPart(off, func([]byte) error { return nil }); err == nil || !strings.Contains(err.Error(), "has no part at") {
			t.Errorf("offset %d: %v", i, err)
		}
	}
	if err := rs[1].ReadPart(0, func([]byte) error { return nil }); err == nil || rs[1].HasParts() {
		t.Errorf("a compressed object has parts, %v", err)
	}
}

// What is held stays where it is until the last Release.
func TestRecord_Held_BytesStay(t *testing.T) {
	s := open(t, Options{})
	rs, err := s.Write([]Item{item(1, noise(1, PartSize+5)), item(2, noise(2, 5))})
	if err != nil {
		t.Fatal(err)
	}
	rs[0].Hold()
	rs[0].Release()
	s.gone.Wait()
	if got := readParts(t, rs[0]); !bytes.Equal(got, noise(1, PartSize+5)) {
		t.Error("the bytes went while they were held")
	}
	rs[0].Release()
	s.gone.Wait()
	if err := rs[0].ReadPart(0, func([]byte) error { return nil }); !errors.Is(err, ErrCorrupt) {
		t.Errorf("the bytes are there after the last Release: %v", err)
	}
	rs[1].Release()
	s.gone.Wait()
	if _, err := os.Stat(rs[0].Path()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file: %v", err)
	}
}
