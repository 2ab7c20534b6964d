package daemon

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/internal/visitors"
	"github.com/eagleray/eagleray/core/internal/workers"
	"github.com/eagleray/eagleray/core/record"
)

// A job visits a node on which its driver is not: guests bring its tasks (guest.go), and the head its actors. What an actor
// needs of its job is in its record, or else the node of its creator is asked.

// visiting returns the row of a job. If this node has none, the job visits it; mu held.
func (d *Daemon) visiting(id ids.Job, namespace string) *job {
	j := d.jobs[id]
	if j == nil {
		j = &job{Job: workers.NewJob(id, d.logs.Open(id)), namespace: namespace, visits: true, workers: make(map[sched.WorkerID]*worker)}
		d.jobs[id] = j
	}
	return j
}

// host places an actor whose job may be unknown here; mu held.
func (d *Daemon) host(a *actor) {
	rec := &a.rec
	from := rec.Owner.Node()
	switch j := d.jobs[rec.Job]; {
	case j != nil && (rec.EnvKey == "" || j.Env(rec.EnvKey) != nil), from == d.o.Number && len(rec.Home) == 0:
		d.place(a)
	case len(rec.Home) > 0:
		info, err := visitors.Unpack(rec.Home, rec.EnvKey)
		d.hosted(a, info, err)
	default:
		a.asks = true
		d.actors[rec.ID] = a
		d.jobsElsewhere.Ask(from, rec.Job, rec.EnvKey, func(info visitors.Info, err error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.actors[rec.ID] == a && !d.closing { // else it was stopped
				a.asks = false
				d.hosted(a, info, err)
			}
		})
	}
}

// hosted places an actor with what is known of its job elsewhere; mu held.
func (d *Daemon) hosted(a *actor, info visitors.Info, err error) {
	if err != nil { // its creator may be dead, or the connection is
		d.refuse("actor refused", err)
		d.refuseActor(a)
		return
	}
	if info.Known {
		j := d.visiting(a.rec.Job, info.Namespace)
		if info.Env != nil {
			j.DefineEnv(*info.Env)
		}
	}
	d.place(a)
}

// awaits reports whether an actor of the job waits here for a worker; mu held.
func (d *Daemon) awaits(j *job) bool {
	for _, a := range d.actors {
		if a.rec.Job == j.ID && a.worker == nil {
			return true
		}
	}
	return false
}

// jobHere says what this node knows of a job, for another node.
func (d *Daemon) jobHere(id ids.Job, env string) visitors.Info {
	d.mu.Lock()
	defer d.mu.Unlock()
	j := d.jobs[id]
	if j == nil || env != "" && j.Env(env) == nil {
		return visitors.Info{}
	}
	return visitors.Info{Known: true, Namespace: j.namespace, Env: j.Env(env)}
}

// forOtherNodes puts into an actor's record what another node has to know that starts it.
func (d *Daemon) forOtherNodes(c *client, rec *record.Actor) (err error) {
	d.locked(func() { rec.Lasting = c.outlives() })
	rec.Waits = d.o.WaitForFit || d.o.CanGrow
	if rec.Detached && d.o.Cluster != nil {
		rec.Home, err = visitors.Pack(d.jobHere(rec.Job, rec.EnvKey))
	}
	return err
}
