package daemon

import (
	"sync"
	"time"
)

// What is spilled first stays in the page cache: memory that the machine has at hand is
// the quickest, and of small amounts nothing reaches the disk. More would take memory that
// nobody has used lately, which costs more than the disk: see docs/rationale.md.
const (
	spillCache = 0.02
	cacheLook  = time.Second // how old a look at the free memory may be
)

// shareOf says how much that is now, given what can be had.
func shareOf(available func() uint64, part float64) func() uint64 {
	var mu sync.Mutex
	var looked time.Time
	var share uint64
	return func() uint64 {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); looked.IsZero() || now.Sub(looked) >= cacheLook {
			looked, share = now, uint64(float64(available())*part)
		}
		return share
	}
}
