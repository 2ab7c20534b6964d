package daemon

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/sched"
	"github.com/eagleray/eagleray/core/workers"
)

// The times in a worker's life.
const (
	startTimeout = 30 * time.Second       // from the fork order to WorkerReady
	forkTimeout  = 15 * time.Second       // from the fork order to the zygote's answer
	statusWait   = 100 * time.Millisecond // from the pidfd's event to the exit status
	deafWait     = 100 * time.Millisecond // from a closed connection to the kill
	exitGrace    = time.Second            // from TExit to the kill
	killPatience = 5 * time.Second        // from a kill to the process's end
	leaveGrace   = time.Minute            // from the last answer of a worker that ends by itself to the kill
)

// maxForks bounds how often a worker is ordered because zygotes die.
const maxForks = 4

type workerState int

const (
	stateStarting workerState = iota
	stateReady
	stateGone // the scheduler was told
)

// worker is a process ordered by the scheduler. The daemon's lock guards it.
type worker struct {
	id    sched.WorkerID
	self  ids.Worker
	job   *job
	env   string
	token string
	state workerState

	pid      int
	proc     *workers.Process // nil until the zygote told
	client   *client          // nil until it said hello
	output   *workers.Output  // nil until its fork was ordered
	deadline *time.Timer

	doomed bool          // to be killed as soon as its process is known
	status int           // as from waitstatus_to_exitcode
	known  bool          // status is
	told   chan struct{} // closed when it is
	reason string        // announced by WorkerExit
	actor  *actor

	exceeded string     // why it was ended: it held too much memory
	excess   fault.Code // of which kind
	held     uint64     // bytes, of the node's memory
	ended    bool       // killed by the daemon
	deaf     bool       // that was because its connection had closed

	zygote  *zygote
	forks   int  // how often its fork was ordered
	ordered bool // the last order was sent

	born, up time.Time // ordered, ready

	timers []*time.Timer // of what is to be done about it, see after
}

// startWorker has the pool's zygote fork a worker; mu held.
func (d *Daemon) startWorker(a sched.StartWorker) {
	w := &worker{id: a.Worker, self: ids.NewWorker(), job: d.jobs[a.Job], env: a.Env, token: newToken(), told: make(chan struct{}), born: time.Now()}
	d.workers[w.id] = w
	if w.job == nil {
		go d.workerFailed(w, fmt.Sprintf("job %s is not known", a.Job))
		return
	}
	w.job.workers[w.id] = w
	d.tokens[w.token] = w
	z, err := d.zygoteFor(w.job, w.env)
	if err != nil {
		go d.workerFailed(w, err.Error())
		return
	}
	d.forkFrom(w, z)
}

// setDeadline gives a worker its time to come up; mu held.
func (d *Daemon) setDeadline(w *worker) {
	w.deadline = time.AfterFunc(startTimeout, func() {
		d.workerFailed(w, fmt.Sprintf("a worker did not come up within %v", startTimeout))
	})
	z := w.zygote
	w.after(forkTimeout, func() { d.forkLate(w, z) })
}

func newToken() string {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic("daemon: no randomness: " + err.Error())
	}
	return hex.EncodeToString(b[:])
}

// claim finds the fork that a worker's hello belongs to.
func (d *Daemon) claim(token string) (*worker, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.tokens[token]
	if token == "" || w == nil || w.state != stateStarting {
		return nil, fault.New(fault.BadRequest, "no worker was ordered with this token")
	}
	delete(d.tokens, token)
	return w, nil
}

// workerConnected binds a worker's connection; mu held.
func (d *Daemon) workerConnected(c *client) {
	w := c.worker
	w.client = c
	d.knowPid(w, c.pid)
	if w.proc == nil { // its zygote has not told yet, or died before it could
		if p, err := workers.Watch(c.pid, func(p *workers.Process) { d.processGone(w, p) }); err == nil {
			w.proc = p
		}
	}
	if w.doomed { // before its process was known
		w.proc.Signal(unix.SIGKILL)
	}
	d.event(func(m *sched.Machine) { m.AddClient(c.id, w.job.id) })
}

// knowPid notes a worker's process id; mu held.
func (d *Daemon) knowPid(w *worker, pid int) {
	if w.pid != 0 {
		return
	}
	w.pid = pid
	d.pids[pid] = w
	workers.Offer(pid)
	if w.output != nil {
		w.output.SetPid(pid)
	}
}

// workerReady: the worker listens and can take work; mu held.
func (d *Daemon) workerReady(w *worker) {
	if w.state != stateStarting {
		return
	}
	w.state, w.up = stateReady, time.Now()
	d.startKills = 0
	if w.deadline != nil {
		w.deadline.Stop()
	}
	if w.output != nil {
		w.output.SetReady()
	}
	d.event(func(m *sched.Machine) { m.WorkerReady(w.id) })
}

// workerFailed: an ordered worker will not come up.
func (d *Daemon) workerFailed(w *worker, why string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failed(w, why)
}

// failed is workerFailed; mu held.
func (d *Daemon) failed(w *worker, why string) {
	if w.state != stateStarting {
		return
	}
	if w.output != nil {
		if said := w.output.LastWords(); said != "" {
			why += "; it last wrote:\n" + said
		}
	}
	d.log.Warn("a worker failed to start", "env", w.env, "pid", w.pid, "why", why)
	d.forget(w)
	d.event(func(m *sched.Machine) {
		m.WorkerFailed(w.id, fmt.Sprintf("the worker process for this task's environment could not be started: %s", why))
	})
}

// forget takes a worker that has failed or is gone out of the tables and makes
// sure that its process ends; mu held.
func (d *Daemon) forget(w *worker) {
	w.state = stateGone
	if w.deadline != nil {
		w.deadline.Stop()
	}
	w.stopTimers()
	delete(d.workers, w.id)
	delete(d.tokens, w.token)
	d.gpus.Forget(uint64(w.id))
	if d.pids[w.pid] == w {
		delete(d.pids, w.pid)
	}
	if w.job != nil {
		delete(w.job.workers, w.id)
		d.dropJob(w.job)
	}
	w.doomed = true
	w.proc.Signal(unix.SIGKILL)
	if c := w.client; c != nil {
		d.dropClient(c)
	}
	if w.pid != 0 && w.proc != nil {
		d.orphans.Sweep(w.pid)
	}
	removeSoon(d.socketOf(w.self.Owner()))
}

// removeSoon deletes the socket of a process that is gone. It does not wait for the disk.
func removeSoon(path string) {
	if path != "" {
		go os.Remove(path)
	}
}
