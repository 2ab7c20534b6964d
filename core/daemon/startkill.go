package daemon

import "golang.org/x/sys/unix"

// maxStartKills is how many workers in a row may be killed while they start
// before that counts as a fault of their environment.
const maxStartKills = 30

// killedAtStart reports whether a worker that was not ready yet was killed from
// outside, which says nothing about its environment: another one is started. A
// machine that kills every worker is not asked for ever; mu held.
func (d *Daemon) killedAtStart(w *worker) bool {
	if !w.known || w.status != -int(unix.SIGKILL) {
		return false
	}
	d.startKills++
	return d.startKills <= maxStartKills
}
