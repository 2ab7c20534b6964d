package daemon

import (
	"context"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/core/sched"
	"github.com/eagleray/eagleray/core/wire"
	"github.com/eagleray/eagleray/core/workers"
)

// drainLimit bounds how long the end of a job waits for its workers' output.
const drainLimit = 500 * time.Millisecond

// jobGrace is what the workers of an ended job get to exit by themselves.
const jobGrace = 150 * time.Millisecond

// job is a driver's program as this node sees it. The daemon's lock guards it.
type job struct {
	*workers.Job // its environments, and where the output of its workers goes
	namespace    string
	driver       *client
	workers      map[sched.WorkerID]*worker
	detached     bool // created actors that outlive it
	left         bool // its driver is gone, and detached actors of it live, see outlive.go
	ended        bool

	endState   record.JobState // how the driver has left
	endMessage string
	endMs      int64 // when
}

// startJob registers a driver's program.
func (d *Daemon) startJob(c *client, m *wire.Message) {
	var q wire.JobStart
	if err := m.Decode(&q); err != nil {
		_ = m.Fail(err)
		return
	}
	if c.role != wire.RoleDriver && c.role != wire.RoleService {
		_ = m.Fail(fault.New(fault.BadRequest, "a %s cannot start a job", c.role))
		return
	}
	d.mu.Lock()
	again := c.job != nil
	d.mu.Unlock()
	if again {
		_ = m.Fail(fault.New(fault.BadRequest, "this connection has started a job already"))
		return
	}
	if q.Namespace == "" {
		q.Namespace = workers.NewToken()
	}
	ctx, cancel := d.headContext()
	defer cancel()
	id, err := d.head.StartJob(ctx, record.Job{
		Namespace: q.Namespace, Entrypoint: q.Entrypoint, Node: d.o.Node, DriverPid: c.pid,
		Driver: c.self.Owner(), StartedMs: time.Now().UnixMilli(),
	})
	if err != nil {
		_ = m.Fail(err)
		return
	}
	var sink *workers.Sink
	if q.LogToDriver {
		sink = workers.NewSink(func(ls []wire.LogLine) { _ = c.peer.Push(wire.TLogs, wire.LogBatch{Lines: ls}) }, c.peer.Unsent)
	}
	j := &job{
		Job: workers.NewJob(id, sink), namespace: q.Namespace, driver: c, workers: make(map[sched.WorkerID]*worker),
	}
	d.mu.Lock()
	if c.gone || d.closing {
		d.mu.Unlock()
		d.head.EndJob(id, record.JobLost, "its driver went while it started")
		return
	}
	d.jobs[id], c.job = j, j
	j.DefineEnv(q.Env)
	d.event(func(m *sched.Machine) {
		m.AddClient(c.id, id)
		if c.role == wire.RoleDriver && q.Env.Key != "" {
			m.AddJob(id, q.Env.Key)
		}
	})
	d.mu.Unlock()
	_ = m.Reply(wire.JobStarted{JobID: id[:], Namespace: q.Namespace})
}

// headContext bounds a request to the head.
func (d *Daemon) headContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), headTimeout)
}

// headTimeout is far beyond a change of leaders.
const headTimeout = 60 * time.Second

// endJob ends what runs for a job and returns the outputs that are to be
// drained; nil when it had ended before.
func (d *Daemon) endJob(j *job, s record.JobState, message string) []*workers.Output {
	stays := d.hasDetached(j)
	d.mu.Lock()
	if j.ended || j.left || d.closing {
		d.mu.Unlock()
		return nil
	}
	if stays {
		defer d.mu.Unlock()
		return d.driverLeaves(j, s, message)
	}
	outputs := d.jobOver(j)
	d.mu.Unlock()
	d.head.EndJob(j.ID, s, message)
	return outputs
}

// jobOver ends a job with all that runs for it but detached actors, and returns
// the outputs that are to be drained; mu held.
func (d *Daemon) jobOver(j *job) []*workers.Output {
	j.ended = true
	outputs := d.endWorkersOf(j, func(w *worker) bool { return w.actor == nil || !w.actor.rec.Detached })
	d.dropHeirs(j, func(*client) bool { return true })
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
	d.table.CloseZygotes(j.Job)
	d.table.SweepJob(j.Job)
}

// jobEnd answers a driver that leaves when its workers' output was sent.
func (d *Daemon) jobEnd(c *client, m *wire.Message) {
	d.mu.Lock()
	j := c.job
	mine := j != nil && j.driver == c
	d.mu.Unlock()
	if !mine {
		_ = m.Fail(fault.New(fault.BadRequest, "this process is not a job's driver"))
		return
	}
	outputs := d.endJob(j, record.JobFinished, "")
	limit := time.Now().Add(drainLimit)
	timer := time.NewTimer(drainLimit)
	defer timer.Stop()
drain:
	for _, o := range outputs {
		select {
		case <-o.Done():
		case <-timer.C:
			break drain
		}
	}
	if j.Sink != nil {
		j.Sink.Flush(max(time.Until(limit), 20*time.Millisecond))
		j.Sink.Close()
	}
	_ = m.Reply(nil)
}
