package spill

import (
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// What the page cache costs depends on the memory that it gets. Memory that was in
// use a moment ago takes 0.2 s of CPU a gigabyte; on a virtual machine whose host
// has taken unused memory back each page comes by way of the host, at 2.5 s. A
// disk that is written past the cache is quicker than that. So the cost is
// measured, and where it is high the next objects pass the cache by.
const (
	warmthOver = 64 << 20               // bytes of one measurement
	dear       = time.Second            // of CPU for a gigabyte: more is too much
	awayFor    = 768 << 20              // bytes until the next measurement
	gigabyte   = float64(1_000_000_000) // of dear
)

// warmth measures the page cache.
type warmth struct {
	mu    sync.Mutex
	bytes int64
	spent time.Duration
	away  int64 // bytes that pass it by
}

// takes reports whether the page cache is to take n bytes.
func (w *warmth) takes(n int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away <= 0 {
		return true
	}
	w.away -= n
	return false
}

// measure runs f, which writes n bytes into the page cache.
func (w *warmth) measure(n int64, f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadTime()
	err := f()
	w.note(n, threadTime()-before)
	return err
}

func (w *warmth) note(n int64, spent time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bytes += n
	w.spent += spent
	if w.bytes < warmthOver {
		return
	}
	if float64(w.spent)/float64(w.bytes) > float64(dear)/gigabyte {
		w.away = awayFor
	}
	w.bytes, w.spent = 0, 0
}

// threadTime is the CPU time of this thread.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
