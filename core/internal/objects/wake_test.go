package objects

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Of several times at which the table wants to be called the earliest counts, and
// after it a later one counts again.
func TestWaker_Later_EarliestTimeCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		lock := new(sync.Mutex)
		s := &Store{Table: tableOf(4 * mib), o: Options{Lock: lock}, stop: make(chan struct{})}
		m := newWaker(s)
		s.effects = &fakeDisk{t: s.Table, clock: began}
		wake := func() time.Time {
			lock.Lock()
			defer lock.Unlock()
			return m.at
		}
		later := func(after time.Duration) {
			lock.Lock()
			defer lock.Unlock()
			m.later(after)
		}
		sleeps := func(want time.Duration) {
			t.Helper()
			at := wake()
			if at.Sub(began) != want {
				t.Errorf("it wakes after %v, want %v", at.Sub(began), want)
			}
			time.Sleep(time.Until(at) - 1)
			synctest.Wait()
			if wake().IsZero() {
				t.Error("it has woken too early")
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			if !wake().IsZero() {
				t.Errorf("it has not woken; the next time is %v", wake().Sub(began))
			}
		}
		later(3 * time.Second)
		later(time.Second)
		later(2 * time.Second)
		sleeps(time.Second)
		later(time.Second)
		sleeps(2 * time.Second)
		later(time.Hour)
		lock.Lock()
		s.Stop()
		lock.Unlock()
		m.tick()
		if wake().IsZero() {
			t.Error("a store that ends looks after waiting requests")
		}
		m.stop()
	})
}
