package store

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"
)

// blocksOf returns how many bytes of memory a file has.
func blocksOf(t *testing.T, m *Mapping) int64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Fstat(m.fd, &st); err != nil {
		t.Fatal(err)
	}
	return st.Blocks * 512
}

// Whatever was there before, and wherever zeros begin and end, what is read is what was written.
func TestMapping_WriteSparse_ReadsAsWritten(t *testing.T) {
	const size = 24 << 20
	m := newMapping(t, size)
	old := pattern(size, 3)
	all, err := m.Slice(0, size)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(4, 4))
	for round := range 5 {
		if err := m.WriteAt(0, old); err != nil {
			t.Fatal(err)
		}
		off := uint64(r.IntN(3*hugePage)) &^ 63
		src := make([]byte, 8<<20+r.IntN(8<<20))
		for range round {
			at := r.IntN(len(src))
			copy(src[at:min(len(src), at+r.IntN(3*hugePage))], old)
		}
		src[len(src)-1] = byte(round) // of a part that is no whole huge page
		if err := m.writeParts(off, src, true); err != nil {
			t.Fatal(err)
		}
		end := off + uint64(len(src))
		if !bytes.Equal(all[off:end], src) {
			t.Fatalf("round %d: other bytes than were written", round)
		}
		if !bytes.Equal(all[:off], old[:off]) || !bytes.Equal(all[end:], old[end:]) {
			t.Fatalf("round %d: written beside", round)
		}
	}
}

func TestMapping_WriteSparse_ZerosTakeNoMemory(t *testing.T) {
	const size = 16 << 20
	m := newMapping(t, size)
	src, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(src) }()
	for range 2 {
		if err := m.writeParts(0, src, true); err != nil {
			t.Fatal(err)
		}
		if n := blocksOf(t, m); n != 0 {
			t.Errorf("%d bytes of memory for zeros", n)
		}
		if err := m.WriteAt(0, pattern(size, 1)); err != nil { // what was there gives way the next time
			t.Fatal(err)
		}
	}
	src[9<<20] = 1
	if err := m.writeParts(0, src, true); err != nil {
		t.Fatal(err)
	}
	if n := blocksOf(t, m); n != hugePage {
		t.Errorf("%d bytes of memory for one that is not zero", n)
	}
	if got, err := m.Slice(0, size); err != nil || !bytes.Equal(got, src) {
		t.Error("other bytes than were written", err)
	}
	if err := m.WriteAt(0, pattern(size, 2)); err != nil { // holes are not taken for mapped pages
		t.Fatal(err)
	}
}
