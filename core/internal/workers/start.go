package workers

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// Open returns a table without workers. From now on the process collects its children.
func Open(o Options) *Table {
	t := newTable(o)
	t.reaper = StartReaper(t.reaped)
	return t
}

// Add puts a worker into the table that is not ordered yet. Id is the owner's number for it.
func (t *Table) Add(id uint64, j *Job, env string, events Events) *Worker {
	w := &Worker{
		id: id, job: j, env: env, token: NewToken(), events: events,
		statusSet: make(chan struct{}), ordered: time.Now(),
	}
	t.workers[w] = struct{}{}
	t.tokens[w.token] = w
	return w
}

// Start has the zygote of the worker's environment fork it.
func (t *Table) Start(w *Worker) {
	z, err := t.zygoteFor(w.job, w.env)
	if err != nil {
		go t.fail(w, err.Error()) // the owner is not told while it asks
		return
	}
	t.forkFrom(w, z)
}

// Connected binds the connection of a worker whose token was claimed.
func (t *Table) Connected(w *Worker, pid int, peer *wire.Peer) {
	w.peer = peer
	t.setPid(w, pid)
	if w.process == nil { // its zygote has not told yet, or died before it could
		if p, err := Watch(pid, func(p *Process) { t.processGone(w, p) }); err == nil {
			w.process = p
		}
	}
	if w.dismissed { // before its process was known
		w.process.Signal(unix.SIGKILL)
	}
}

// SetReady notes that the worker listens and can take work. It reports false for a
// worker that is not starting any more.
func (t *Table) SetReady(w *Worker) bool {
	if w.state != Starting {
		return false
	}
	w.state, w.readyAt = Ready, time.Now()
	t.startKills = 0
	w.stopDeadline()
	if w.output != nil {
		w.output.SetReady()
	}
	return true
}

// Stop kills the workers and ends the zygotes. Nothing is started any more.
func (t *Table) Stop() {
	t.closing = true
	for w := range t.workers {
		w.process.Signal(unix.SIGKILL)
	}
	for _, z := range t.zygotes {
		z.Close("the daemon is ending")
	}
}

// Close kills every descendant of this process that is left after Stop and returns how
// many have not ended; limit bounds how long it tries. The lock must not be held.
func (t *Table) Close(limit time.Duration) (left int) {
	left = KillDescendants(limit, t.reaper.Sweep)
	t.Discard()
	return left
}

// Discard ends a table that has started nothing. The lock must not be held.
func (t *Table) Discard() {
	t.reaper.Close()
	t.orphans.Close()
}
