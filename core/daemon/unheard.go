package daemon

// maxMisses is how many workers may die in a row before they have got an
// actor: the next one's death is the actor's.
const maxMisses = 30

// unheard reports whether the worker has died before it got its actor, as an
// idle one does that is killed in the moment at which it is chosen. Nothing of
// the actor has run: it is queued for another worker, in the same incarnation,
// and its restarts are not touched. What the worker wrote has been read to the
// end, or it counts as heard; mu held.
func (d *Daemon) unheard(w *worker) bool {
	a := w.actor
	if a.begun || a.settled || a.drains || w.reason != "" || w.ended || w.exceeded != "" || d.closing || a.misses >= maxMisses ||
		!w.read || d.actors[a.rec.ID] != a || d.jobs[a.rec.Job] == nil || w.job.ended && !a.rec.Detached {
		return false
	}
	a.misses++
	a.worker = nil
	a.place()
	return true
}
