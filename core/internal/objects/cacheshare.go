package objects

import (
	"sync"
	"time"
)

// The objects that are spilled first stay in the page cache, because memory that nobody needs
// is faster than a disk (core/internal/spill/cachecost.go). They may take a share of the
// available memory; the rest is for programs.
const (
	spillCache = 0.5
	cacheLook  = time.Second // how old a look at the available memory may be
)

// shareOf returns a function that says how many bytes that share is now.
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
