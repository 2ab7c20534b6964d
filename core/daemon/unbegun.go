package daemon

import "github.com/eagleray/eagleray/core/wire"

// maxUnbegun bounds how many workers in a row may die with an actor that they
// have not begun before that counts as the actor's end.
const maxUnbegun = 10

// placeAgain gives an actor another worker, as the same incarnation, when its
// own died before it had read what it was to become: an idle one that somebody
// killed, of which the daemon had not heard yet. That costs no restart; mu held.
func (d *Daemon) placeAgain(a *actor, w *worker) bool {
	if a.begun || a.settled || a.drains || w.Excess().Text != "" || a.unbegun >= maxUnbegun {
		return false
	}
	if d.actorOver(w.job, &a.rec) {
		return false
	}
	delete(d.lives, a.key())
	unbegun := a.unbegun + 1
	if w.Reason() == wire.ExitDeclines { // it has not failed; each worker declines once
		unbegun = a.unbegun
	}
	d.place(&actor{rec: a.rec, unbegun: unbegun})
	return true
}
