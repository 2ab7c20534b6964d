package store

import (
	"bytes"
	"math/rand/v2"
	"runtime"
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

// A copy gets as many threads as pay, and at most half of the processors.
func TestCopiers_FewForLittle(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, c := range []struct{ processors, bytes, want int }{
		{16, 0, 1}, {16, 2*parallelCopy - 1, 1}, {16, 2 * parallelCopy, 2}, {16, 3*parallelCopy - 1, 2}, {16, 4 * parallelCopy, 4}, {16, 99 * parallelCopy, maxCopiers},
		{1, 99 * parallelCopy, 1}, {2, 99 * parallelCopy, 1}, {3, 99 * parallelCopy, 1}, {4, 99 * parallelCopy, 2}, {6, 99 * parallelCopy, 3},
	} {
		runtime.GOMAXPROCS(c.processors)
		if got := copiers(c.bytes); got != c.want {
			t.Errorf("%d bytes, %d processors: %d threads, want %d", c.bytes, c.processors, got, c.want)
		}
		if now := runtime.GOMAXPROCS(0); now != c.processors {
			t.Fatalf("%d processors became %d", c.processors, now)
		}
	}
}
