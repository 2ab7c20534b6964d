package workers

import (
	"os/exec"
	"strings"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// maxSpareZygotes is how many zygotes a job keeps before those without workers
// are ended.
const maxSpareZygotes = 8

// maxNotes bounds what a job's zygotes may note.
const maxNotes = 100

// envKey says for whom a zygote forks.
type envKey struct {
	job ids.Job
	env string
}

// envZygote is the zygote of one environment of a job, as the table sees it. The owner's
// lock guards the fields.
type envZygote struct {
	*Zygote
	job    *Job
	ready  bool   // it has imported its modules
	asked  string // the runtime environment as the user has written it, in JSON; empty: none
	began  time.Time
	took   time.Duration // until it was ready
	killed bool          // a signal has ended it
	gone   bool          // it has ended
}

// freeUnused frees what was made for a zygote that has ended, when its last worker is gone; mu held.
func (t *Table) freeUnused(z *envZygote) {
	if z == nil || !z.gone {
		return
	}
	for w := range t.workers {
		if w.zygote == z {
			return
		}
	}
	z.free()
}

// interpreterOf returns an environment of a job with the path of its interpreter.
func (t *Table) interpreterOf(j *Job, env string) (*wire.EnvSpec, error) {
	spec := j.envs[env]
	if spec == nil {
		return nil, fault.New(fault.RuntimeEnvSetup, "environment %q was not defined", env)
	}
	s := *spec
	if s.Python == "" {
		s.Python = t.o.Interpreter
	}
	if !strings.Contains(s.Python, "/") {
		path, err := exec.LookPath(s.Python)
		if err != nil {
			return nil, fault.New(fault.RuntimeEnvSetup, "interpreter: %v", err)
		}
		s.Python = path
	}
	return &s, nil
}

// closeSpareZygotes makes room for one more zygote of the job; mu held.
func (t *Table) closeSpareZygotes(j *Job) {
	mine := make(map[*envZygote]envKey)
	for k, z := range t.zygotes {
		if z.job == j {
			mine[z] = k
		}
	}
	if len(mine) < maxSpareZygotes {
		return
	}
	for w := range t.workers {
		delete(mine, w.zygote)
	}
	for z, k := range mine {
		delete(t.zygotes, k)
		z.Close("other environments need the room")
	}
}

// CloseZygotes ends the zygotes of a job that has ended.
func (t *Table) CloseZygotes(j *Job) {
	for k, z := range t.zygotes {
		if z.job == j {
			delete(t.zygotes, k)
			z.Close("its job has ended")
		}
	}
}

// dropZygote forgets the environment's zygote, so that the next fork is ordered from another one; mu held.
func (t *Table) dropZygote(z *envZygote) {
	for k, o := range t.zygotes {
		if o == z {
			delete(t.zygotes, k)
		}
	}
}

// zygoteReaped notes how a zygote ended, if the process was one; mu held.
func (t *Table) zygoteReaped(pid, status int) {
	for _, z := range t.zygotes {
		if z.Process() == pid {
			z.killed = status < 0
			return
		}
	}
}

// zygoteNoted passes a zygote's note on to the user. Equal notes of the job's environments
// are shown once.
func (t *Table) zygoteNoted(z *envZygote, text string) {
	j := z.job
	first := false
	if t.locked(func() { first = j.addNote(text) }); !first {
		return
	}
	t.log.Warn("a zygote notes", "job", j.ID, "text", text)
	if j.Sink != nil {
		j.Sink.Add([]wire.LogLine{{Stderr: true, Source: "daemon", Text: text}})
	}
}

// addNote adds a note of a zygote to those of the job. It reports whether the note is new and
// there was room for it; the owner's lock is held.
func (j *Job) addNote(text string) bool {
	if text == "" || j.notes[text] || len(j.notes) >= maxNotes {
		return false
	}
	if j.notes == nil {
		j.notes = make(map[string]bool)
	}
	j.notes[text] = true
	return true
}

// zygoteLate ends a zygote that has not become ready in time.
func (t *Table) zygoteLate(z *envZygote) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !z.ready {
		z.Close(lateText(z.spec))
	}
}
