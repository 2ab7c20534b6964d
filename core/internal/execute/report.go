package execute

import (
	"bytes"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Report describes what the worker runs: the newest of its calls.
func (w *Worker) Report() wire.Running {
	var newest *Call
	r := wire.Running{Busy: w.calls.len()}
	for k := range w.calls.all() {
		r.Once = r.Once || k.Tmpl.Once
		if newest == nil || k.token > r.Call {
			newest, r.Call = k, k.token
		}
	}
	if newest != nil {
		r.Name, r.AgeUs = newest.Tmpl.Name, time.Since(newest.started).Microseconds()
	}
	return r
}

// AddRuns adds to a census what this process runs, and what it has run last, of
// tasks that others have submitted. The rows are at most limit.
func (w *Worker) AddRuns(t *wire.ProcessCensus, limit int) {
	row := func(task ids.Task, tmpl *Template, state string, started, ended int64) {
		r := wire.TaskRow{StartedUs: started, EndedUs: ended, TaskID: bytes.Clone(task[:]), Name: tmpl.Name, Method: tmpl.Kind == frame.KindMethod, State: state}
		if r.Method {
			r.ActorID = bytes.Clone(w.actorID[:])
		}
		t.Ran = append(t.Ran, r)
	}
	for k := range w.calls.all() {
		t.Runs = append(t.Runs, wire.Run{TaskID: bytes.Clone(k.Task[:]), StartedMs: k.started.UnixMilli()})
		if k.Tmpl != nil && k.Actor == nil && len(t.Ran) < limit {
			row(k.Task, k.Tmpl, wire.TaskRunning, k.started.UnixMicro(), 0)
		}
	}
	w.ran.each(func(task ids.Task, tmpl *Template, failed bool, ran ranTime) bool {
		if len(t.Ran) >= limit {
			return false
		}
		state := wire.TaskFinished
		if failed {
			state = wire.TaskFailed
		}
		row(task, tmpl, state, ran.startedUs, ran.startedUs+ran.tookUs)
		return true
	})
}
