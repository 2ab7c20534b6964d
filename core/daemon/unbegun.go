package daemon

// maxUnbegun bounds how many workers in a row may die with an actor that they
// have not begun before that counts as the actor's end.
const maxUnbegun = 10

// placeAgain gives an actor another worker, as the same incarnation, when its
// own died before it had read what it was to become: an idle one that somebody
// killed, of which the daemon had not heard yet. That costs no restart; mu held.
func (d *Daemon) placeAgain(a *actor, w *worker) bool {
	if a.begun || a.settled || a.drains || w.exceeded != "" || a.unbegun >= maxUnbegun {
		return false
	}
	if w.job.ended && !a.rec.Detached {
		return false
	}
	delete(d.lives, a.key())
	d.place(&actor{rec: a.rec, unbegun: a.unbegun + 1})
	return true
}
