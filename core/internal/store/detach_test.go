package store

import (
	"bytes"
	"testing"

	"golang.org/x/sys/unix"
)

func TestDetach_MappedMemoryThatIsWrittenLater_ShowsWhatItWas(t *testing.T) {
	fd, err := unix.MemfdCreate("detach", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	const size = 1 << 20
	if err := unix.Ftruncate(fd, size); err != nil {
		t.Fatal(err)
	}
	m, err := Map(fd, size)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := m.WriteAt(0, bytes.Repeat([]byte{1}, size)); err != nil {
		t.Fatal(err)
	}
	first, err := m.Slice(5000, 10000) // neither end is a page's
	if err != nil {
		t.Fatal(err)
	}
	second, _ := m.Slice(15000, 3000) // shares a page with the first
	other, _ := m.Slice(100000, 10)
	for _, b := range [][]byte{first, second} {
		if err := Detach(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.WriteAt(0, bytes.Repeat([]byte{2}, size)); err != nil {
		t.Fatal(err)
	}
	for i, b := range [][]byte{first, second} {
		if n := bytes.Count(b, []byte{1}); n != len(b) {
			t.Errorf("slice %d: %d of %d bytes are as they were", i, n, len(b))
		}
	}
	if other[0] != 2 {
		t.Error("memory that was not detached does not show what is written")
	}
	if err := Detach(nil); err != nil {
		t.Error(err)
	}
}
