package objects

import "time"

// waker tells the table the time, and calls tick when the table asked for it.
type waker struct {
	store *Store
	timer *time.Timer
	at    time.Time // when the timer fires; zero when it does not run
}

func newWaker(s *Store) *waker {
	w := &waker{store: s}
	w.timer = time.AfterFunc(time.Hour, w.tick)
	w.timer.Stop()
	return w
}

func (w *waker) stop() { w.timer.Stop() }

// now implements effects.
func (w *waker) now() time.Time { return time.Now() }

// later implements effects. Of several times the earliest counts.
func (w *waker) later(after time.Duration) {
	at := time.Now().Add(after)
	if w.at.IsZero() || at.Before(w.at) {
		w.at = at
		w.timer.Reset(after)
	}
}

func (w *waker) tick() {
	w.store.answer(func() {
		w.at = time.Time{}
		w.store.tick()
	})
}
