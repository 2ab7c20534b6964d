package store

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Where huge pages are to be had the arena has them; what is written, given back and
// written again is the same as with small ones.
func TestHugeFile_WrittenAndPunched_AsAnyOther(t *testing.T) {
	const size = 16<<20 + 4096
	fd, err := hugeFile(size)
	if err != nil {
		t.Skip("needs the privilege to mount: ", err)
	}
	m := mapped(t, fd, size)
	want := pattern(size, 5)
	for range 2 {
		if err := m.WriteAt(0, want); err != nil {
			t.Fatal(err)
		}
	}
	got, err := m.Slice(0, size)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatal("other bytes than were written", err)
	}
	if n := huge(t); n < 8<<10 {
		t.Errorf("%d KiB of huge pages are mapped", n)
	}
	if err := m.Punch(1<<20, 5<<20); err != nil {
		t.Fatal(err)
	}
	if err := m.Prefault(2<<20, 1<<20); err != nil {
		t.Fatal(err)
	}
	clear(want[1<<20 : 6<<20])
	if !bytes.Equal(got, want) {
		t.Error("what was punched out is not zeros, or something else is")
	}
	m.Rest([]Span{{3 << 20, 1 << 20}})
	if !bytes.Equal(got, want) {
		t.Error("the bytes have changed with a rest")
	}
	again := pattern(4<<20, 9)
	if err := m.WriteAt(2<<20, again); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got[2<<20:6<<20], again) {
		t.Error("what was written again is not there")
	}
	if err := m.WriteAt(size-4096, again[:4097]); err == nil {
		t.Error("written beyond the end")
	}
}

// huge returns how many KiB of huge pages of files in memory this process has mapped.
func huge(t *testing.T) (kib int) {
	t.Helper()
	b, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "ShmemPmdMapped:")
	for _, c := range strings.TrimSpace(rest) {
		if c < '0' || c > '9' {
			break
		}
		kib = kib*10 + int(c-'0')
	}
	return kib
}

func TestCreateMemory_HasItsSize_AndNoName(t *testing.T) {
	const size = 3<<20 + 4096
	fd, err := CreateMemory("eagleray-test", size)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Size != size || st.Nlink != 0 || st.Blocks != 0 {
		t.Errorf("%+v, %v", st, err)
	}
}
