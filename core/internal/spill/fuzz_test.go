package spill

import (
	"bytes"
	"hash/crc32"
	"os"
	"testing"
	"time"
)

// bounded is memory that refuses what is beyond its end.
type bounded struct {
	t *testing.T
	memory
}

func (b bounded) WriteAt(p []byte, at int64) (int, error) {
	if at < 0 || at+int64(len(p)) > int64(len(b.memory)) {
		b.t.Fatalf("%d bytes at %d of %d", len(p), at, len(b.memory))
	}
	return b.memory.WriteAt(p, at)
}

// Whatever lies where a copy was, behind a header and a checksum that are right or wrong:
// the object that was written or an error, and never a byte beyond its end.
func FuzzRecord(f *testing.F) {
	s, err := Open(Options{Roots: []string{f.TempDir()}, Name: "s-test"})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close(time.Second) })
	object := text(5000)
	rs, err := s.Write([]Item{item(1, object)})
	if err != nil {
		f.Fatal(err)
	}
	r := rs[0]
	whole, err := os.ReadFile(r.Path())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole[r.at+headerSize:r.at+headerSize+int64(r.stored)], true, uint16(5000))
	f.Add(whole, false, uint16(64))
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xa4, 0xff, 0xff, 0xff, 0xff}, true, uint16(9))
	f.Fuzz(func(t *testing.T, b []byte, valid bool, size uint16) {
		x, file := *r, b
		if valid { // as if the disk returned something else that it believes in
			x.stored, x.size, x.at = uint64(len(b)), uint64(size), 0
			file = append(x.header(crc32.Checksum(b, castagnoli)), b...)
		}
		if err := os.WriteFile(r.Path(), file, 0o600); err != nil {
			t.Fatal(err)
		}
		got := bounded{t, make(memory, x.size)}
		err := x.Read(got)
		if err == nil && !valid && !bytes.Equal(got.memory, object) {
			t.Fatal("read something else than was written")
		}
		y := x // as if it had passed the page cache by: its header ends a page
		y.direct, y.compressed, y.stored, y.at = true, false, y.size, pageSize-headerSize
		file = append(append(make([]byte, y.at), y.header(crc32.Checksum(b, castagnoli))...), b...)
		if err := os.WriteFile(r.Path(), file, 0o600); err != nil {
			t.Fatal(err)
		}
		into := newArena(t, int(y.size))
		err = y.Read(into)
		if whole := len(b) >= int(y.size) && crc32.Checksum(b[:y.size], castagnoli) == crc32.Checksum(b, castagnoli); err == nil && !whole {
			t.Fatal("read something else than was written")
		}
	})
}
