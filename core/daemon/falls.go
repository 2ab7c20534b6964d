package daemon

import "time"

// An actor whose worker dies in its constructor would, with many restarts, keep
// the machine busy with nothing but that. The first restart is immediate, those
// after it wait, each twice as long as the one before.
const (
	firstRest = 50 * time.Millisecond
	maxRest   = 10 * time.Second
)

// fell notes that an incarnation's process has died; mu held.
func (d *Daemon) fell(a *actor) {
	if !a.ready && a.rec.MayRestart() {
		d.falls[a.rec.ID]++
		return
	}
	delete(d.falls, a.rec.ID)
}

// rest is how long an actor is not placed after so many falls in a row.
func rest(falls int) time.Duration {
	if falls < 2 {
		return 0
	}
	return min(firstRest<<min(falls-2, 20), maxRest)
}

// afterFalls places an actor, at once or when it has rested; mu held.
func (d *Daemon) afterFalls(a *actor, place func()) {
	if a.resting = rest(d.falls[a.rec.ID]); a.resting == 0 {
		place()
		return
	}
	time.AfterFunc(a.resting, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		a.resting = 0
		if d.actors[a.rec.ID] == a && !d.closing {
			place()
		}
	})
}
