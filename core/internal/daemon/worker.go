package daemon

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/internal/workers"
)

// addWorker puts a worker into the tables; mu held.
func (d *Daemon) addWorker(id sched.WorkerID, j *job, env string) *worker {
	w := &worker{d: d, id: id, self: ids.NewWorkerOn(d.o.Number), job: j}
	w.Worker = d.table.Add(uint64(id), j.Job, env, w)
	d.workers[id], j.workers[id] = w, w
	return w
}

// claim finds the worker that a hello with the token belongs to.
func (d *Daemon) claim(token string) (*worker, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w, err := d.table.Claim(token)
	if err != nil {
		return nil, err
	}
	return d.workers[sched.WorkerID(w.ID())], nil
}

// workerConnected binds a worker's connection; mu held.
func (d *Daemon) workerConnected(c *client) {
	w := c.worker
	w.client = c
	d.table.Connected(w.Worker, c.pid, c.peer)
	d.event(func(m *sched.Machine) { m.AddClient(c.id, w.job.ID) })
}

// workerReady tells the scheduler that the worker listens and can take work; mu held.
func (d *Daemon) workerReady(w *worker) {
	if d.table.SetReady(w.Worker) {
		d.event(func(m *sched.Machine) { m.WorkerReady(w.id) })
	}
}

// Failed implements workers.Events; mu is held.
func (w *worker) Failed(why string) {
	w.d.forget(w)
	w.d.event(func(m *sched.Machine) { m.WorkerFailed(w.id, why) })
}

// Gone implements workers.Events: everyone who needed the worker is told how it ended;
// mu is held.
func (w *worker) Gone(end workers.End) {
	d := w.d
	d.noteEnd(w, end)
	d.forget(w)
	if w.actor != nil {
		d.actorEnded(w, end)
	}
	d.eventOfEnd(end, func(m *sched.Machine) {
		if end.StartFailure != "" {
			m.WorkerFailed(w.id, end.StartFailure)
		} else {
			m.WorkerGone(w.id)
		}
	})
}

// KilledFromOutside implements workers.Events; mu is not held.
func (w *worker) KilledFromOutside() { w.d.byKernel(w) }

// forget takes a worker that has left the table out of the daemon's tables; mu held.
func (d *Daemon) forget(w *worker) {
	delete(d.workers, w.id)
	d.gpus.Forget(uint64(w.id))
	delete(w.job.workers, w.id)
	d.endVisit(w.job)
	d.dropJob(w.job)
	if c := w.client; c != nil {
		d.dropClient(c)
	}
	removeSoon(d.socketOf(w.self.Owner()))
}
