package submit

import (
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/trace"
)

// What the tracer hears. Each of these is a branch in its caller while nothing is traced.

// stamp marks a stage of a call that we have submitted.
func (t *Task) stamp(c *Submitter, s trace.Stage, p Pipe) {
	if trace.On {
		trace.Call(s, t.First, c.Self, p.FD())
	}
}

// stampQueued marks that the task is made.
func (t *Task) stampQueued(c *Submitter) {
	if trace.On {
		trace.CallOf(trace.Queued, t.First, c.Self, t.Template.Kind == frame.KindMethod)
	}
}
