package daemon

import (
	"os/exec"
	"strings"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
	"github.com/eagleray/eagleray/core/workers"
)

// zygoteKey says for whom a zygote forks.
type zygoteKey struct {
	job ids.Job
	env string
}

// zygote is a fork server as the daemon sees it. The daemon's lock guards the fields.
type zygote struct {
	*workers.Zygote
	job    ids.Job
	ready  bool // it has imported its modules
	killed bool // a signal has ended it
}

// zygoteEvents hears what one zygote tells.
type zygoteEvents struct {
	d *Daemon
	z *zygote
}

func (e zygoteEvents) Ready() { e.d.zygoteReady(e.z) }
func (e zygoteEvents) Forked(token string, pid, pidfd int) {
	e.d.workerForked(token, pid, pidfd)
}
func (e zygoteEvents) Exited(pid, status int)       { e.d.reaped(pid, status) }
func (e zygoteEvents) Failed(token, message string) { e.d.forkFailed(token, message) }
func (e zygoteEvents) Noted(text string)            { e.d.zygoteNoted(e.z, text) }
func (e zygoteEvents) Late()                        { e.d.zygoteLate(e.z) }
func (e zygoteEvents) Gone(message string)          { e.d.zygoteGone(e.z, message) }

// newZygote returns one that does not run yet.
func (d *Daemon) newZygote(spec *wire.EnvSpec, job ids.Job) *zygote {
	z := &zygote{job: job}
	z.Zygote = workers.NewZygote(spec, job, d.o.SessionDir+"/d.sock", d.o.SessionDir+"/logs", zygoteEvents{d, z})
	return z
}

// zygoteFor returns the fork server of a job's environment, started if it is
// not there; mu held.
func (d *Daemon) zygoteFor(j *job, env string) (*zygote, error) {
	k := zygoteKey{j.id, env}
	if z := d.zygotes[k]; z != nil {
		return z, nil
	}
	spec := j.envs[env]
	if spec == nil {
		return nil, fault.New(fault.RuntimeEnvSetup, "environment %q was not defined", env)
	}
	s := *spec
	if s.Python == "" {
		s.Python = d.o.Interpreter
	}
	if !strings.Contains(s.Python, "/") {
		path, err := exec.LookPath(s.Python)
		if err != nil {
			return nil, fault.New(fault.RuntimeEnvSetup, "interpreter: %v", err)
		}
		s.Python = path
	}
	d.closeSpareZygotes(j)
	z := d.newZygote(&s, j.id)
	d.zygotes[k] = z
	go z.Run(d.reaper)
	return z, nil
}

// maxSpareZygotes is how many zygotes a job keeps before those without workers
// are ended.
const maxSpareZygotes = 8

// closeSpareZygotes makes room for one more; mu held.
func (d *Daemon) closeSpareZygotes(j *job) {
	mine := make(map[*zygote]zygoteKey)
	for k, z := range d.zygotes {
		if k.job == j.id {
			mine[z] = k
		}
	}
	if len(mine) < maxSpareZygotes {
		return
	}
	for _, w := range j.workers {
		delete(mine, w.zygote)
	}
	for z, k := range mine {
		delete(d.zygotes, k)
		z.Close("other environments need the room")
	}
}

// maxNotes bounds what a job's zygotes may say.
const maxNotes = 100

// zygoteNoted: something about a zygote that the user should know. It is shown once,
// however many environments of the job have the same.
func (d *Daemon) zygoteNoted(z *zygote, text string) {
	d.mu.Lock()
	j := d.jobs[z.job]
	if j == nil || text == "" || j.notes[text] || len(j.notes) >= maxNotes {
		d.mu.Unlock()
		return
	}
	if j.notes == nil {
		j.notes = make(map[string]bool)
	}
	j.notes[text] = true
	d.mu.Unlock()
	d.log.Warn("a zygote notes", "job", z.job, "text", text)
	if j.sink != nil {
		j.sink.Add([]wire.LogLine{{Stderr: true, Source: "daemon", Text: text}})
	}
}

// zygoteLate: it has not become ready in time.
func (d *Daemon) zygoteLate(z *zygote) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !z.ready {
		z.Close("importing the modules that workers share took longer than " + workers.ImportLimit.String())
	}
}

func (d *Daemon) closeZygotes(j *job) {
	for k, z := range d.zygotes {
		if k.job == j.id {
			delete(d.zygotes, k)
			z.Close("its job has ended")
		}
	}
}

// forkLate gives a zygote up that has not answered an order: it is stopped, or
// hangs. What it owes is ordered from another one when it is gone.
func (d *Daemon) forkLate(w *worker, z *zygote) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if w.state != stateStarting || w.zygote != z || w.pid != 0 || !w.ordered || d.closing {
		return
	}
	d.log.Warn("a zygote does not answer: another one takes its place", "env", w.env)
	d.dropZygote(z)
	z.Close("the zygote (the process that forks workers) did not answer")
	z.Unblock()
}

// zygoteReaped notes how a zygote ended, if the process was one; mu held.
func (d *Daemon) zygoteReaped(pid, status int) {
	for _, z := range d.zygotes {
		if z.Process() == pid {
			z.killed = status < 0
			return
		}
	}
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
