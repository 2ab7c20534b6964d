package spill

import (
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// The cost of the page cache depends on the memory that the cache gets. With memory that was
// in use a moment ago a gigabyte takes 0.2 s of CPU. On a virtual machine whose host has taken
// unused memory back, the host brings each page, which takes 2.5 s a gigabyte; writing to the
// disk directly is faster than that. So the cost is measured, and while it is high the next
// objects bypass the cache.
const (
	measuredBytes = 64 << 20               // how many bytes one measurement takes
	costLimit     = time.Second            // of CPU for a gigabyte; above that objects bypass the cache
	bypassBytes   = 768 << 20              // how many bytes bypass the cache until the next measurement
	gigabyte      = float64(1_000_000_000) // the unit of costLimit
)

// cacheCost measures the cost of the page cache.
type cacheCost struct {
	mu     sync.Mutex
	bytes  int64
	spent  time.Duration
	bypass int64 // how many bytes still bypass the cache
}

// takes reports whether n bytes go through the page cache.
func (w *cacheCost) takes(n int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bypass <= 0 {
		return true
	}
	w.bypass -= n
	return false
}

// measure runs f, which writes n bytes into the page cache.
func (w *cacheCost) measure(n int64, f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadTime()
	err := f()
	w.note(n, threadTime()-before)
	return err
}

func (w *cacheCost) note(n int64, spent time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bytes += n
	w.spent += spent
	if w.bytes < measuredBytes {
		return
	}
	if float64(w.spent)/float64(w.bytes) > float64(costLimit)/gigabyte {
		w.bypass = bypassBytes
	}
	w.bytes, w.spent = 0, 0
}

// threadTime returns the CPU time of this thread.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
