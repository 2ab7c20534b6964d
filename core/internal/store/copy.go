package store

import (
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	// parallelCopy is how many bytes a thread must get to be worth starting.
	parallelCopy = 32 << 20
	// maxCopiers bounds the threads of one copy: a few saturate the memory.
	maxCopiers = 4
	// copyStep is what a thread takes at a time: one that the system holds up keeps the
	// others waiting for so much only. It bounds how long the collector waits for a copy, too.
	copyStep = 1 << 20
)

// copiers returns how many threads are to copy n bytes: half of the cores are others',
// and where there are two one of them moves what the memory can take.
func copiers(n int) int {
	return max(1, min(n/parallelCopy, maxCopiers, runtime.GOMAXPROCS(0)/2))
}

// copyParallel copies all of src to the start of dst with up to n threads.
func copyParallel(dst, src []byte, n int) {
	var next atomic.Int64
	work := func() {
		for {
			at := int(next.Add(copyStep)) - copyStep
			if at >= len(src) {
				return
			}
			end := min(at+copyStep, len(src))
			move(dst[at:end], src[at:end])
		}
	}
	var wg sync.WaitGroup
	for range min(n-1, len(src)/copyStep) {
		wg.Go(work)
	}
	work()
	wg.Wait()
}
