package store

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

func TestCopyParallel_AnySizeAndThreads_CopiesThatOnly(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	sizes := []int{0, 1, moveSize - 1, moveSize, moveSize + 1, copyStep - 1, copyStep, copyStep + 1, 3*copyStep + 12345}
	src := make([]byte, 4*copyStep+200)
	for i := range src {
		src[i] = byte(r.Uint32())
	}
	for _, size := range sizes {
		for _, threads := range []int{1, 2, 5} {
			for _, shift := range []int{0, 1, 64} {
				dst := make([]byte, size+shift+64)
				from := src[100-shift:][:size]
				copyParallel(dst[shift:], from, threads)
				if !bytes.Equal(dst[shift:shift+size], from) {
					t.Fatalf("%d bytes by %d threads at %d: not copied", size, threads, shift)
				}
				if !bytes.Equal(dst[:shift], make([]byte, shift)) || !bytes.Equal(dst[shift+size:], make([]byte, 64)) {
					t.Fatalf("%d bytes by %d threads at %d: written beside", size, threads, shift)
				}
			}
		}
	}
}

// moveSize is where the ways of copying change, on the machines that have two.
const moveSize = 64 << 10
