package client

import (
	"bytes"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

// Who has submitted a task remembers how it ended, see ended.go. When that process has ended nobody
// would know of the task, so the one that has run it remembers it too.

// keptRuns is how many tasks that it has run a process remembers.
const keptRuns = 1024

// ran is a task that this process has run.
type ran struct {
	task   ids.Task
	tmpl   *RemoteTemplate
	failed bool
}

// ranTasks are the latest ones.
type ranTasks struct {
	ring *[keptRuns]ran
	n    uint64
}

// note remembers a task that was answered; mu held. It is on every task's way: no clock, no memory.
func (x *ranTasks) note(k *call, flags int) {
	if k.tmpl == nil || k.actor != nil {
		return
	}
	if x.ring == nil {
		x.ring = new([keptRuns]ran)
	}
	r := &x.ring[x.n%keptRuns]
	x.n++
	r.task, r.tmpl, r.failed = k.task, k.tmpl, flags&(wire.ReplyAppError|wire.ReplyCancelled) != 0
}

// tallyRan adds what this process runs, and what it has run last, of tasks that others have submitted; mu held.
func (e *executor) tallyRan(t *wire.Tally, limit int) {
	row := func(task ids.Task, tmpl *RemoteTemplate, state string) {
		r := wire.TaskRow{TaskID: bytes.Clone(task[:]), Name: tmpl.Name, Method: tmpl.Kind == KindMethod, State: state}
		if r.Method {
			r.ActorID = bytes.Clone(e.actorID[:])
		}
		t.Ran = append(t.Ran, r)
	}
	for _, k := range e.calls {
		if k.tmpl != nil && k.actor == nil && len(t.Ran) < limit {
			row(k.task, k.tmpl, wire.TaskRunning)
		}
	}
	for i := uint64(0); i < min(e.ran.n, keptRuns) && len(t.Ran) < limit; i++ {
		r := &e.ran.ring[(e.ran.n-1-i)%keptRuns]
		state := wire.TaskFinished
		if r.failed {
			state = wire.TaskFailed
		}
		row(r.task, r.tmpl, state)
	}
}
