package daemon

import (
	"sync"
	"time"
)

// What is spilled first stays in the page cache, as much of it as Linux leaves there
// before it begins to write: a tenth of the memory that can be had
// (vm.dirty_background_ratio), a little less for what others write. Small amounts never
// reach the disk, and cost a copy.
const (
	spillCache = 1.0 / 12
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
