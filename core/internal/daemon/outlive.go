package daemon

import (
	"context"
	"time"

	"github.com/eagleray/eagleray/core/internal/inquiry"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/internal/workers"
	"github.com/eagleray/eagleray/core/record"
)

// A detached actor outlives its driver, and so does what it has submitted: its
// tasks, its actors, and what those submit in turn. All of these outlive the driver.
// While a detached actor of a job lives, the job does not end with its driver: the
// driver has left, what belongs to the driver ends, and the rest goes on. The job
// ends when its last detached actor is dead.

// outlives reports whether the process goes on when its job's driver leaves:
// what it runs comes from a detached actor; mu held.
func (c *client) outlives() bool {
	switch {
	case c.worker != nil:
		return c.worker.outlives
	case c.predecessor != nil:
		return c.predecessor.outlives()
	}
	return c.outlivesDriver
}

// over reports whether nobody wants the process's work any more: its job has ended, or the
// driver has left and the process belongs to the driver; mu held.
func (c *client) over() bool {
	return c.job.ended || c.job.left && !c.outlives()
}

// actorOver reports whether an actor of the job must not be started any more; mu held.
func (d *Daemon) actorOver(j *job, rec *record.Actor) bool {
	switch {
	case j == nil:
		return true
	case rec.Detached:
		return false
	}
	return j.ended || j.left && !d.ownerOutlives(rec)
}

// ownerOutlives reports whether the actor's owner lives and goes on when the
// driver of the actor's job leaves; mu held.
func (d *Daemon) ownerOutlives(rec *record.Actor) bool {
	if rec.Owner.Node() != d.o.Number {
		return rec.Lasting
	}
	owner := d.owners[rec.Owner]
	return owner != nil && owner.outlives()
}

// incarnationGone has the job of an actor reviewed when that may have been its
// last detached actor; mu held.
func (d *Daemon) incarnationGone(rec *record.Actor) {
	if j := d.jobs[rec.Job]; j != nil && rec.Detached && (j.ended || j.left) {
		d.reviewDetached(j)
	}
}

// beginRegistration notes that a process has asked for the registration of an actor, which
// may be a detached one. The driver may end before the head is asked. The job does not end
// until the returned function was called.
func (d *Daemon) beginRegistration(c *client) (registered func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	j := c.job
	if j == nil {
		return func() {}
	}
	j.registering++
	return func() {
		if d.endRegistration(j) {
			d.lastDetached(j)
		}
	}
}

// endRegistration notes that a request to register an actor is answered. It reports whether
// this was the last request and the driver of the job has left or ended.
func (d *Daemon) endRegistration(j *job) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	j.registering--
	return j.registering == 0 && (j.left || j.ended)
}

// hasDetached reports whether a detached actor of the job lives, or may be registered in a
// moment. It asks the head, so mu is not held. The end of a driver does not wait long for a head
// that does not answer: then the job goes on, as if it had such an actor, and the head is asked again.
func (d *Daemon) hasDetached(j *job) (has, known bool) {
	may, registering := d.mayHaveDetached(j)
	if registering || !may {
		return registering, true
	}
	ctx, cancel := context.WithTimeout(d.ctx, detachedWait)
	defer cancel()
	actors, err := d.head.ActorsOf(ctx, record.ActorFilter{Job: j.ID, Detached: true, Live: true})
	if err != nil {
		d.refuse("a job whose driver has left goes on", inquiry.Unanswered("look for its detached actors", detachedWait, err))
		return true, false
	}
	return len(actors) > 0, true
}

// mayHaveDetached reports whether a process of the job may have created a detached actor,
// and whether a process of it registers an actor now.
func (d *Daemon) mayHaveDetached(j *job) (may, registering bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return (j.detached || d.o.Cluster != nil) && !d.closing, j.registering > 0 && !d.closing
}

// driverLeaves ends what belongs to the driver of a job that goes on, and returns
// the outputs that are to be drained. How the driver ended is told when the job ends; mu held.
func (d *Daemon) driverLeaves(j *job, s record.JobState, message string) []*workers.Output {
	j.left, j.endState, j.endMessage, j.endMs = true, s, message, time.Now().UnixMilli()
	outputs := d.endWorkersOf(j, (*worker).endsWithDriver)
	for id, w := range j.workers {
		if w.endsWithDriver() { // an idle one would be given to others until its process has ended
			d.event(func(m *sched.Machine) { m.StopIdle(id) })
		}
	}
	d.dropSuccessors(j, func(c *client) bool { return !c.outlives() })
	if j.driver != nil {
		d.event(func(m *sched.Machine) { m.RemoveClient(j.driver.id) })
	}
	d.reviewDetached(j)
	return outputs
}

// detachedWait is how long the head may take to order a restart of a detached actor, and to
// say whether there is one.
const detachedWait = 2 * time.Second

// reviewDetached calls lastDetached when the requests that have just begun at the head are over.
func (d *Daemon) reviewDetached(j *job) {
	time.AfterFunc(detachedWait, func() { d.lastDetached(j) })
}

// lastDetached ends a job whose driver has left, and forgets it, if no detached
// actor of the job lives any more.
func (d *Daemon) lastDetached(j *job) {
	left := false
	d.locked(func() { left = j.left && !j.ended && j.registering == 0 && d.o.Cluster != nil })
	if left { // the head ends the job when that is due
		d.head.EndJob(j.ID, j.endState, j.endMessage)
		return
	}
	switch has, known := d.hasDetached(j); {
	case !known:
		d.reviewDetached(j)
	case !has && d.endLeft(j):
		d.head.EndJob(j.ID, j.endState, j.endMessage)
	}
}

// endLeft ends a job whose driver has left, or forgets it if it has ended before. It reports
// whether the head is to be told of the end.
func (d *Daemon) endLeft(j *job) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closing || j.registering > 0 || !j.ended && !j.left {
		return false
	}
	j.detached = false
	if j.ended {
		d.dropJob(j)
		return false
	}
	d.jobOver(j)
	return true
}

// markLeft adds to the record of a job whose driver has left how the driver has left. The
// cluster's state says so only when the job has ended.
func (d *Daemon) markLeft(r *record.Job) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.State == record.JobLeft {
		r.State = r.Leaves
		return
	}
	if j := d.jobs[r.ID]; j != nil && j.left && r.State == record.JobRunning {
		r.State, r.Message, r.EndedMs = j.endState, j.endMessage, j.endMs
	}
}

// jobGrace is how long the workers of an ended job may take to exit by themselves.
const jobGrace = 150 * time.Millisecond

// endWorkersOf ends those workers of a job that match, and returns the outputs
// that are to be drained; mu held.
func (d *Daemon) endWorkersOf(j *job, match func(*worker) bool) []*workers.Output {
	outputs := []*workers.Output{}
	for _, w := range j.workers {
		if !match(w) {
			continue
		}
		if w.Output() != nil && w.Pid() != 0 {
			outputs = append(outputs, w.Output())
		}
		d.table.EndWithJob(w.Worker, jobGrace)
	}
	return outputs
}

// dropSuccessors drops those successors of a job that match; mu held.
func (d *Daemon) dropSuccessors(j *job, match func(*client) bool) {
	for _, c := range d.clients {
		if c.job == j && c.role == wire.RoleSuccessor && match(c) {
			d.dropClient(c)
		}
	}
}

// jobOver ends a job with all that runs for it but detached actors, and returns
// the outputs that are to be drained; mu held.
func (d *Daemon) jobOver(j *job) []*workers.Output {
	j.ended = true
	outputs := d.endWorkersOf(j, func(w *worker) bool { return w.actor == nil || !w.actor.rec.Detached })
	if j.visits {
		d.logs.End(j.Sink)
	}
	d.dropSuccessors(j, func(*client) bool { return true })
	d.dropGuests(j)
	d.event(func(m *sched.Machine) { m.RemoveJob(j.ID) })
	if !j.detached {
		d.table.CloseZygotes(j.Job)
	} else {
		d.reviewDetached(j)
	}
	d.dropJob(j)
	return outputs
}

// dropJob forgets a job when nothing of it is left, and ends what its workers
// left running; mu held.
func (d *Daemon) dropJob(j *job) {
	if !j.ended || j.detached || len(j.workers) > 0 || d.jobs[j.ID] != j {
		return
	}
	delete(d.jobs, j.ID)
	d.packages.Left(j.ID)
	d.table.CloseZygotes(j.Job)
	d.table.SweepJob(j.Job)
}
