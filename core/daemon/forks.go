package daemon

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fdlimit"
	"github.com/eagleray/eagleray/core/workers"
)

// forkFrom orders the worker's fork from a zygote; mu held.
func (d *Daemon) forkFrom(w *worker, z *zygote) {
	w.zygote, w.ordered = z, false
	w.forks++
	if z.ready {
		d.setDeadline(w)
	}
	go d.orderFork(w, z)
}

// orderFork makes the worker's pipes and sends the order.
func (d *Daemon) orderFork(w *worker, z *zygote) {
	o, stdout, stderr, err := workers.OpenOutput(d.o.SessionDir+"/logs", w.job.sink, func() bool { return d.stillWanted(w) })
	if err != nil {
		d.workerFailed(w, err.Error())
		return
	}
	d.mu.Lock()
	if w.zygote == z { // else another one was ordered to since
		w.output, w.ordered = o, true
	}
	d.mu.Unlock()
	if order := (workers.ForkOrder{Token: w.token, Stdout: stdout, Stderr: stderr}); !z.Fork(order) {
		order.Close()
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

// workerForked: the fork was done and here is its handle.
func (d *Daemon) workerForked(token string, pid, pidfd int) {
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
	var p *workers.Process
	var err error
	if pidfd >= 0 {
		p, err = workers.WatchHandle(pid, pidfd, func(p *workers.Process) { d.processGone(w, p) })
	} else { // there was no descriptor free to receive it
		err = fdlimit.Retry(time.Second, func() bool { return d.stillWanted(w) }, func() error {
			p, err = workers.Watch(pid, func(p *workers.Process) { d.processGone(w, p) })
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
		p.Signal(unix.SIGKILL)
	}
	d.mu.Unlock()
}

// reaped: this is how a process ended.
func (d *Daemon) reaped(pid, status int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.pids[pid]
	if w == nil {
		d.zygoteReaped(pid, status)
		return
	}
	d.statusKnown(w, workers.Ending{Status: status, Known: true})
}

// forkFailed: one fork order came to nothing.
func (d *Daemon) forkFailed(token, message string) {
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

// stillWanted reports whether a worker that was ordered is still to come up.
func (d *Daemon) stillWanted(w *worker) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return w.state == stateStarting && !w.doomed && !d.closing
}
