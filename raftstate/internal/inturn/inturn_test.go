package inturn

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestQueue_ManyAdd_AllAreCarriedOutInTheOrderOfEach(t *testing.T) {
	var q Queue
	const adders, each = 8, 2000
	var all, added sync.WaitGroup
	last := make([]int, adders) // only the queue's functions write it, one after the other
	for a := range adders {
		added.Go(func() {
			for i := range each {
				all.Add(1)
				q.Add(func() {
					defer all.Done()
					if last[a] != i {
						t.Errorf("number %d of adder %d comes when %d is due", i, a, last[a])
					}
					last[a] = i + 1
				})
			}
		})
	}
	added.Wait()
	all.Wait()
	for a, n := range last {
		if n != each {
			t.Errorf("%d of adder %d were carried out, want %d", n, a, each)
		}
	}
}

// Add does not wait for what is carried out, and the goroutine ends with the last function.
func TestQueue_OneWaits_OthersAreAddedBehindIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q Queue
		var done atomic.Int64
		for i := range int64(3000) {
			q.Add(func() {
				if i == 0 {
					time.Sleep(time.Hour)
				}
				if n := done.Add(1); n != i+1 {
					t.Errorf("number %d is carried out as the %d-th", i, n)
				}
			})
		}
		synctest.Wait()
		if n := done.Load(); n != 0 {
			t.Errorf("%d were carried out before the first had ended", n)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if n := done.Load(); n != 3000 {
			t.Errorf("%d were carried out", n)
		}
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.busy || cap(q.waiting) != 0 {
			t.Errorf("the goroutine is there still: %v, or room for %d", q.busy, cap(q.waiting))
		}
	})
}
