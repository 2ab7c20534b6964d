package daemon

import (
	"sync"
	"time"
)

// What is spilled first stays in the page cache, as much of it as Linux leaves dirty
// before it begins to write (vm.dirty_background_ratio): small amounts never reach the disk.
const (
	cacheTenths = 1
	cacheLook   = time.Second // how old a look at the free memory may be
)

// cacheShare says how much may stay there, given what memory can be had.
func cacheShare(available func() uint64) func() uint64 {
	var mu sync.Mutex
	var looked time.Time
	var share uint64
	return func() uint64 {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); looked.IsZero() || now.Sub(looked) >= cacheLook {
			looked, share = now, available()/10*cacheTenths
		}
		return share
	}
}
