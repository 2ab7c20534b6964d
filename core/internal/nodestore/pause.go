package nodestore

import "time"

// patience is how long a caller waits at least for the daemon's answer, so that a get with a
// short timeout finds an object that is in memory.
const patience = 200 * time.Millisecond

// until returns the end of a wait: the deadline, but not before a moment has passed. A zero
// deadline stands for that moment.
func until(deadline time.Time) time.Time {
	least := time.Now().Add(patience)
	if deadline.Before(least) {
		return least
	}
	return deadline
}

// pause waits until done or stop is closed, or until a time; a nil channel and a zero
// time do not end the wait. It reports whether done was closed. The mutex is held on
// entry and exit, and released while it waits.
func (s *Store) pause(done, stop <-chan struct{}, until time.Time) bool {
	var limit <-chan time.Time
	if !until.IsZero() {
		t := time.NewTimer(time.Until(until))
		defer t.Stop()
		limit = t.C
	}
	came := false
	s.unlocked(func() {
		select {
		case <-done:
			came = true
		case <-stop:
		case <-limit:
		}
	})
	return came
}

// unlocked calls a function without the mutex, which the caller holds.
func (s *Store) unlocked(f func()) {
	s.mu.Unlock()
	defer s.mu.Lock()
	f()
}
