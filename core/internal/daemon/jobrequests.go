package daemon

import (
	"context"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/inquiry"
	"github.com/eagleray/eagleray/core/internal/provision"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/internal/workers"
	"github.com/eagleray/eagleray/core/record"
)

// startJob serves TJobStart: it registers a driver's program.
func (d *Daemon) startJob(ctx context.Context, c *client, m *wire.Message) error {
	var q wire.JobStart
	if err := m.Decode(&q); err != nil {
		return err
	}
	if c.role != wire.RoleDriver && c.role != wire.RoleService {
		return fault.New(fault.BadRequest, "a %s cannot start a job", c.role)
	}
	again := false
	if d.locked(func() { again = c.job != nil }); again {
		return fault.New(fault.BadRequest, "this connection has started a job already")
	}
	if q.Namespace == "" {
		q.Namespace = workers.NewToken()
	}
	heard, done := inquiry.WhileHeard(ctx, d.o.HeadSilent)
	defer done()
	id, err := d.head.StartJob(heard, record.Job{
		Namespace: q.Namespace, Entrypoint: q.Entrypoint, Node: d.o.Node, DriverPid: c.pid,
		Driver: c.self.Owner(), StartedMs: time.Now().UnixMilli(),
	})
	if heard.Err() != nil && ctx.Err() == nil && err != nil {
		return context.Cause(heard) // a head that has got the request all the same ends the job with this node
	}
	if err != nil {
		return err
	}
	if err := d.packFolders(id, &q.Env); err != nil {
		d.head.EndJob(id, record.JobLost, err.Error())
		return err
	}
	show := func(ls []wire.LogLine) { _ = c.peer.Push(wire.TLogs, wire.LogBatch{Lines: ls}) }
	var sink *workers.Sink
	if q.LogToDriver {
		sink = workers.NewSink(show, c.peer.Unsent)
	}
	d.logs.Drives(id, sink, show)
	j := &job{
		Job: workers.NewJob(id, sink), namespace: q.Namespace, driver: c, workers: make(map[sched.WorkerID]*worker),
	}
	if !d.addJob(c, j, q.Env) {
		d.logs.Forget(id)
		d.head.EndJob(id, record.JobLost, "its driver went while it started")
		return nil
	}
	_ = m.Reply(wire.JobStarted{JobID: id[:], Namespace: q.Namespace})
	return nil
}

// addJob enters a job of a driver in the tables. It reports false when the driver has gone.
func (d *Daemon) addJob(c *client, j *job, env wire.EnvSpec) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.gone || d.closing {
		return false
	}
	d.jobs[j.ID], c.job = j, j
	j.DefineEnv(env)
	d.event(func(m *sched.Machine) {
		m.AddClient(c.id, j.ID)
		if c.role == wire.RoleDriver && env.Key != "" && !provision.Lazy(&env) {
			m.AddJob(j.ID, env.Key)
		}
	})
	return true
}

// drives returns the job whose driver the process is, nil if it is none; mu held.
func (c *client) drives() *job {
	if c.job != nil && c.job.driver == c {
		return c.job
	}
	return nil
}

// jobEnd serves TJobEnd: a driver leaves. The answer is sent when the output of its workers
// was sent.
func (d *Daemon) jobEnd(_ context.Context, c *client, m *wire.Message) error {
	var j *job
	if d.locked(func() { j = c.drives() }); j == nil {
		return fault.New(fault.BadRequest, "this process is not a job's driver")
	}
	outputs := d.endJob(j, record.JobFinished, "")
	over := false
	d.locked(func() { over = j.ended })
	d.logs.Finish(j.ID, over, outputs)
	_ = m.Reply(nil)
	return nil
}

// forgetFunction serves TForget: it tells the workers of a process's job to let go of a
// function.
func (d *Daemon) forgetFunction(c *client, m *wire.Message) error {
	var q wire.FunctionRef
	if err := m.Decode(&q); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.job == nil {
		return nil
	}
	for _, w := range c.job.workers {
		if p := w.Peer(); p != nil {
			_ = p.Push(wire.TForget, q)
		}
	}
	return nil
}
