package daemon

import (
	"time"

	"github.com/eagleray/eagleray/core/internal/retry"
)

// noteFailedStart counts how often in a row the worker of an actor has died before the actor's constructor had ended. It is called when the
// worker of an incarnation has died; mu held.
func (d *Daemon) noteFailedStart(a *actor) {
	if !a.created && a.rec.MayRestart() {
		d.failedStarts[a.rec.ID]++
		return
	}
	delete(d.failedStarts, a.rec.ID)
}

// afterBackoff places an actor at once, or when its backoff is over: an actor whose worker dies in its constructor would, with many restarts, keep the machine
// busy with nothing but that. In a cluster the head has seen to that; mu held.
func (d *Daemon) afterBackoff(a *actor, place func()) {
	if d.o.Cluster != nil {
		place()
		return
	}
	if a.backoff = retry.AfterCrashes(d.failedStarts[a.rec.ID]); a.backoff == 0 {
		place()
		return
	}
	time.AfterFunc(a.backoff, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		a.backoff = 0
		if d.actors[a.rec.ID] == a && !d.closing {
			place()
		}
	})
}
