package daemon

import (
	"sync"
	"time"
)

// What is spilled first stays in the page cache: memory that the machine has at hand is
// the quickest, as long as it is that (core/spill/warmth.go). The rest of what is free is
// for programs.
const (
	spillCache = 0.5
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
