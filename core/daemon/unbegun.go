package daemon

import "github.com/eagleray/eagleray/core/wire"

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
	unbegun := a.unbegun + 1
	if w.reason == wire.ExitDeclines { // it has not failed; each worker declines once
		unbegun = a.unbegun
	}
	d.place(&actor{rec: a.rec, unbegun: unbegun})
	return true
}

// endUnbegun ends the worker of an actor that is killed before the worker has
// said that it has become the actor. It may be declining, because others need
// what it owns: then it ends by itself, when that has moved. Else it is killed
// as soon as it has answered; mu held.
func (d *Daemon) endUnbegun(w *worker) {
	timer := w.after(exitGrace, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.kill(w)
	})
	w.client.peer.Go(wire.TExit, nil, func(m *wire.Message, err error) {
		var a wire.ExitAnswer
		if err == nil && m.Decode(&a) == nil && a.Needed {
			timer.Stop()
			return
		}
		go func() { // who closes a connection runs this, and may have the lock
			d.mu.Lock()
			defer d.mu.Unlock()
			d.kill(w)
		}()
	})
}
