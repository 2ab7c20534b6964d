package machine

import (
	"bytes"
	"encoding/binary"
	"io"
	"maps"
	"os"
	"testing"
)

func TestConstantRanges(t *testing.T) {
	text := []byte(`00400000-00401000 r--p 00000000 fe:00 7 /bin/it
00401000-00409000 r-xp 00001000 fe:00 7 /bin/it
00409000-0040a000 rw-p 00009000 fe:00 7 /bin/it
0040a000-0040b000 r--s 00009000 fe:00 7 /bin/it
7f0000000000-7f0000001000 r-xp 00000000 fe:00 8 /lib/other.so
7f0000002000-7f0000003000 rw-p 00000000 00:00 0
x-y r-xp 00000000 fe:00 7 /bin/it
7ffd00000000-7ffd00001000 r-xp 00000000 00:00 0 [vdso]
`)
	want := map[uintptr]uintptr{0x400000: 0x401000, 0x401000: 0x409000}
	if got := maps.Collect(constantRanges(text, "/bin/it")); !maps.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
}

// What runs goes on, and less of the executable is in memory.
func TestTrimCode(t *testing.T) {
	before := residentOfFiles(t)
	TrimCode()
	if after := residentOfFiles(t); after >= before {
		t.Errorf("%s of files before, %s after", before, after)
	}
}

func TestUnwritten(t *testing.T) {
	size := uintptr(os.Getpagesize())
	file := func(pages ...uint64) io.ReaderAt {
		b := make([]byte, 16) // two pages before
		for _, p := range pages {
			b = binary.NativeEndian.AppendUint64(b, p)
		}
		return bytes.NewReader(b)
	}
	for _, c := range []struct {
		pages []uint64
		want  bool
	}{
		{[]uint64{0, pagePresent | pageOfFile, 0}, true},
		{[]uint64{0, pagePresent, 0}, false},
		{[]uint64{pageSwapped, 0, 0}, false},
		{[]uint64{0, 0}, false}, // cut
	} {
		if got := unwritten(file(c.pages...), 2*size, 5*size); got != c.want {
			t.Errorf("%x: %v", c.pages, got)
		}
	}
}

func residentOfFiles(t *testing.T) string {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		if n, found := bytes.CutPrefix(line, []byte("RssFile:")); found {
			return string(n)
		}
	}
	t.Fatal("no RssFile")
	return ""
}
