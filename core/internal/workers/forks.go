package workers

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/fdlimit"
)

// The times that a worker has to come up.
const (
	startTimeout = 30 * time.Second // from the fork order to Ready
	forkTimeout  = 15 * time.Second // from the fork order to the zygote's answer
)

// maxForks bounds how often a worker is ordered because zygotes die.
const maxForks = 4

// zygoteEvents hears what one zygote tells.
type zygoteEvents struct {
	t *Table
	z *envZygote
}

func (e zygoteEvents) Ready()                              { e.t.zygoteReady(e.z) }
func (e zygoteEvents) Forked(token string, pid, pidfd int) { e.t.forked(token, pid, pidfd) }
func (e zygoteEvents) Exited(pid, status int)              { e.t.reaped(pid, status) }
func (e zygoteEvents) Failed(token, message string)        { e.t.forkFailed(token, message) }
func (e zygoteEvents) Noted(text string)                   { e.t.zygoteNoted(e.z, text) }
func (e zygoteEvents) Late()                               { e.t.zygoteLate(e.z) }
func (e zygoteEvents) Gone(message string)                 { e.t.zygoteGone(e.z, message) }

// zygoteFor returns the zygote of a job's environment, started if there is none; mu held.
func (t *Table) zygoteFor(j *Job, env string) (*envZygote, error) {
	k := envKey{j.ID, env}
	if z := t.zygotes[k]; z != nil {
		return z, nil
	}
	spec, err := t.interpreterOf(j, env)
	if err != nil {
		return nil, err
	}
	t.closeSpareZygotes(j)
	z := &envZygote{job: j, asked: spec.Env[runtimeEnvVar], began: time.Now()}
	z.Zygote = NewZygote(spec, j.ID, t.o.SessionDir+"/d.sock", t.o.SessionDir+"/logs", zygoteEvents{t, z})
	z.place, z.provide, z.node = t.o.Place, t.o.Provide, t.o.NodeEnv
	t.zygotes[k] = z
	go z.Run(t.reaper)
	return z, nil
}

// forkFrom orders the worker's fork from a zygote; mu held.
func (t *Table) forkFrom(w *Worker, z *envZygote) {
	w.zygote, w.forkSent = z, false
	w.forks++
	if z.ready {
		t.setDeadline(w)
	}
	go t.orderFork(w, z)
}

// setDeadline gives a worker its time to come up; mu held.
func (t *Table) setDeadline(w *Worker) {
	z := w.zygote
	limit := startTimeout + hookTime(z.spec)
	w.deadline = time.AfterFunc(limit, func() {
		t.fail(w, fmt.Sprintf("a worker did not come up within %v", limit))
	})
	w.after(forkTimeout, func() { t.forkLate(w, z) })
}

// orderFork makes the worker's pipes and sends the order.
func (t *Table) orderFork(w *Worker, z *envZygote) {
	o, stdout, stderr, err := OpenOutput(t.o.SessionDir+"/logs", w.job.Sink, func() bool { return t.stillWanted(w) })
	if err != nil {
		t.fail(w, err.Error())
		return
	}
	t.locked(func() {
		if w.zygote == z { // else the fork was ordered from another zygote since
			w.output, w.forkSent = o, true
		}
	})
	if order := (ForkOrder{Token: w.token, Stdout: stdout, Stderr: stderr}); !z.Fork(order) {
		order.Close()
		t.locked(func() { t.forkLost(w, z, "the zygote (the process that forks workers) ended") })
	}
}

// stillWanted reports whether a worker that was ordered is still to come up.
func (t *Table) stillWanted(w *Worker) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return w.state == Starting && !w.dismissed && !t.closing
}

// forkLost is called when the zygote will not fork the worker. A zygote that was ready
// or that a signal has ended was killed, so the next one shall fork the worker. Else
// its environment is at fault; mu held.
func (t *Table) forkLost(w *Worker, z *envZygote, why string) {
	if w.state != Starting || w.zygote != z || w.pid != 0 {
		return
	}
	if (z.ready || z.killed) && w.forks < maxForks && !w.dismissed && !t.closing {
		t.dropZygote(z)
		if next, err := t.zygoteFor(w.job, w.env); err == nil {
			w.stopDeadline()
			t.forkFrom(w, next)
			return
		}
	}
	t.failed(w, why)
}

// forkLate gives up a zygote that has not answered an order, because it is stopped or
// hangs. When that zygote is gone, its orders go to another zygote.
func (t *Table) forkLate(w *Worker, z *envZygote) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w.state != Starting || w.zygote != z || w.pid != 0 || !w.forkSent || t.closing {
		return
	}
	t.log.Warn("a zygote does not answer: another one takes its place", "env", w.env)
	t.dropZygote(z)
	z.Close("the zygote (the process that forks workers) did not answer")
	z.Unblock()
}

// forked takes the handle of a worker that was forked.
func (t *Table) forked(token string, pid, pidfd int) {
	w, known := t.claimForked(token, pid)
	if w == nil {
		if pidfd >= 0 {
			if !known { // nobody waits for it any more
				_ = unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0)
			}
			unix.Close(pidfd)
		}
		return
	}
	p, err := t.watch(w, pid, pidfd)
	if err != nil {
		_ = unix.Kill(pid, unix.SIGKILL)
		t.fail(w, err.Error())
		return
	}
	t.locked(func() {
		if w.process == nil {
			w.process = p
		}
		if w.dismissed {
			p.Signal(unix.SIGKILL)
		}
	})
}

// claimForked returns the worker that was forked with the token, nil if no handle of its
// process is needed. Then known reports whether the worker lives and has one already, from
// its connection.
func (t *Table) claimForked(token string, pid int) (w *Worker, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w = t.tokens[token]; w == nil {
		w = t.pids[pid] // it was quick to connect
	}
	switch {
	case w == nil || w.state == Gone:
		return nil, false
	case w.process != nil:
		return nil, w.pid == pid
	case w.token != token:
		return nil, false
	}
	t.setPid(w, pid)
	return w, false
}

// watch makes the handle of a worker's process. A negative pidfd means that no
// descriptor was free to receive it.
func (t *Table) watch(w *Worker, pid, pidfd int) (p *Process, err error) {
	gone := func(p *Process) { t.processGone(w, p) }
	if pidfd >= 0 {
		return WatchHandle(pid, pidfd, gone)
	}
	err = fdlimit.Retry(time.Second, func() bool { return t.stillWanted(w) }, func() error {
		p, err = Watch(pid, gone)
		return err
	})
	return p, err
}

// forkFailed ends a worker whose fork order came to nothing.
func (t *Table) forkFailed(token, message string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w := t.tokens[token]; w != nil {
		t.failed(w, message)
	}
}

// reaped notes how a process ended.
func (t *Table) reaped(pid, status int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w := t.pids[pid]; w != nil {
		w.setStatus(Ending{Status: status, Known: true})
		return
	}
	t.zygoteReaped(pid, status)
}

// zygoteReady is called when the zygote's forks are quick from now on.
func (t *Table) zygoteReady(z *envZygote) {
	t.mu.Lock()
	defer t.mu.Unlock()
	z.ready, z.took = true, time.Since(z.began)
	for w := range t.workers {
		if w.zygote == z && w.state == Starting && w.deadline == nil {
			t.setDeadline(w)
		}
	}
}

// zygoteGone orders the forks that the zygote still owes from another zygote, or gives
// them up.
func (t *Table) zygoteGone(z *envZygote, message string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.noteFailure(z, message)
	t.dropZygote(z)
	var owed []*Worker
	for _, w := range t.tokens {
		if w.zygote == z && w.pid == 0 {
			owed = append(owed, w)
		}
	}
	for _, w := range owed {
		t.forkLost(w, z, message)
	}
	z.gone = true
	t.freeUnused(z)
}
