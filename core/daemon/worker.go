package daemon

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/fdlimit"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/sched"
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
	proc     *process // nil until the zygote told
	client   *client  // nil until it said hello
	output   *output  // nil until its fork was ordered
	deadline *time.Timer

	doomed bool          // to be killed as soon as its process is known
	status int           // as from waitstatus_to_exitcode
	known  bool          // status is
	told   chan struct{} // closed when it is
	reason string        // announced by WorkerExit
	actor  *actor

	gpu      gpuHold
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

// forkFrom orders the worker's fork from a zygote; mu held.
func (d *Daemon) forkFrom(w *worker, z *zygote) {
	w.zygote, w.ordered = z, false
	w.forks++
	if z.ready {
		d.setDeadline(w)
	}
	go d.orderFork(w, z)
}

// setDeadline gives a worker its time to come up; mu held.
func (d *Daemon) setDeadline(w *worker) {
	w.deadline = time.AfterFunc(startTimeout, func() {
		d.workerFailed(w, fmt.Sprintf("a worker did not come up within %v", startTimeout))
	})
	z := w.zygote
	w.after(forkTimeout, func() { d.forkLate(w, z) })
}

// zygoteReady: from now on its forks are quick.
func (d *Daemon) zygoteReady(z *zygote) {
	d.mu.Lock()
	defer d.mu.Unlock()
	z.ready = true
	for _, w := range d.workers {
		if w.zygote == z && w.state == stateStarting && w.deadline == nil {
			d.setDeadline(w)
		}
	}
}

func newToken() string {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic("daemon: no randomness: " + err.Error())
	}
	return hex.EncodeToString(b[:])
}

// orderFork makes the worker's pipes and sends the order.
func (d *Daemon) orderFork(w *worker, z *zygote) {
	o, stdout, stderr, err := d.workerPipes(w)
	if err != nil {
		d.workerFailed(w, err.Error())
		return
	}
	d.mu.Lock()
	if w.zygote == z { // else another one was ordered to since
		w.output, w.ordered = o, true
	}
	d.mu.Unlock()
	if order := (forkOrder{w.token, stdout, stderr}); !z.fork(order) {
		order.close()
		d.mu.Lock()
		defer d.mu.Unlock()
		d.forkLost(w, z, "the zygote (the process that forks workers) ended")
	}
}

// forkLost: the zygote will not fork the worker. If it is one that could, or
// a signal has ended it, it was killed, and the next one shall do it; mu held.
func (d *Daemon) forkLost(w *worker, z *zygote, why string) {
	if w.state != stateStarting || w.zygote != z || w.pid != 0 {
		return
	}
	if (z.ready || z.killed) && w.forks < maxForks && !w.doomed && !d.closing {
		d.dropZygote(z)
		if next, err := d.zygoteFor(w.job, w.env); err == nil {
			if w.deadline != nil {
				w.deadline.Stop()
				w.deadline = nil
			}
			d.forkFrom(w, next)
			return
		}
	}
	d.failed(w, why)
}

func (d *Daemon) dropZygote(z *zygote) {
	for k, o := range d.zygotes {
		if o == z {
			delete(d.zygotes, k)
		}
	}
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
		if p, err := watchPid(c.pid, func(p *process) { d.processGone(w, p) }); err == nil {
			w.proc = p
		}
	}
	if w.doomed { // before its process was known
		w.proc.signal(unix.SIGKILL)
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
	offer(pid)
	if w.output != nil {
		w.output.setPid(pid)
	}
}

// zygoteForked: the fork was done and here is its handle.
func (d *Daemon) zygoteForked(_ *zygote, token string, pid, pidfd int) {
	d.mu.Lock()
	w := d.tokens[token]
	if w == nil {
		w = d.pids[pid] // it was quick to say hello
	}
	if w != nil && w.state != stateGone && w.pid == pid && w.proc != nil {
		d.mu.Unlock() // it said so itself
		closeFD(pidfd)
		return
	}
	if w == nil || w.state == stateGone || w.token != token || w.proc != nil {
		d.mu.Unlock()
		// Nobody waits for it any more.
		if pidfd >= 0 {
			_ = unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0)
			unix.Close(pidfd)
		}
		return
	}
	d.knowPid(w, pid)
	d.mu.Unlock()
	var p *process
	var err error
	if pidfd >= 0 {
		p, err = watchPidfd(pid, pidfd, func(p *process) { d.processGone(w, p) })
	} else { // there was no descriptor free to receive it
		err = fdlimit.Retry(time.Second, func() bool { return d.stillWanted(w) }, func() error {
			p, err = watchPid(pid, func(p *process) { d.processGone(w, p) })
			return err
		})
	}
	if err != nil {
		_ = unix.Kill(pid, unix.SIGKILL)
		d.workerFailed(w, err.Error())
		return
	}
	d.mu.Lock()
	if w.proc == nil {
		w.proc = p
	}
	if w.doomed {
		p.signal(unix.SIGKILL)
	}
	d.mu.Unlock()
}

// zygoteExited: a zygote reaped a worker.
func (d *Daemon) zygoteExited(_ *zygote, pid, status int) { d.reaped(pid, status) }

// reaped: this is how a process ended.
func (d *Daemon) reaped(pid, status int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.pids[pid]
	if w == nil {
		d.zygoteReaped(pid, status)
		return
	}
	d.statusKnown(w, ending{status, true})
}

// zygoteFailed: one fork order came to nothing.
func (d *Daemon) zygoteFailed(_ *zygote, token, message string) {
	d.mu.Lock()
	w := d.tokens[token]
	d.mu.Unlock()
	if w != nil {
		d.workerFailed(w, message)
	}
}

// zygoteGone: the forks that it still owed are another one's, or come to nothing.
func (d *Daemon) zygoteGone(z *zygote, message string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dropZygote(z)
	var owed []*worker
	for _, w := range d.tokens {
		if w.zygote == z && w.pid == 0 {
			owed = append(owed, w)
		}
	}
	for _, w := range owed {
		d.forkLost(w, z, message)
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
		w.output.setReady()
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
		if said := w.output.lastWords(); said != "" {
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
	if d.pids[w.pid] == w {
		delete(d.pids, w.pid)
	}
	if w.job != nil {
		delete(w.job.workers, w.id)
		d.dropJob(w.job)
	}
	w.doomed = true
	w.proc.signal(unix.SIGKILL)
	if c := w.client; c != nil {
		d.dropClient(c)
	}
	if w.pid != 0 && w.proc != nil {
		d.broom.sweep(w.pid)
	}
	d.broom.remove(d.socketOf(w.self.Owner()))
}
