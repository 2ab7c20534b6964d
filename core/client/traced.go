package client

import (
	"github.com/eagleray/eagleray/core/trace"
	"github.com/eagleray/eagleray/core/wire"
)

// What the tracer hears. Each of these is a branch in its caller while nothing is traced.

// stamp marks a stage of a call that we have submitted.
func (t *task) stamp(c *submitter, s trace.Stage, p pipe) {
	if trace.On {
		trace.Call(s, t.first, c.self, p.FD())
	}
}

// stampQueued marks that the task is made.
func (t *task) stampQueued(c *submitter) {
	if trace.On {
		trace.CallOf(trace.Queued, t.first, c.self, t.tmpl.Kind == KindMethod)
	}
}

// startTrace opens the ring of this process when its program asked for one.
func (c *Client) startTrace() error {
	folder, ok := c.setting(trace.Variable)
	if !ok || c.opts.Role == wire.RoleSuccessor {
		return nil
	}
	return trace.Open(folder, c.opts.Role, c.self)
}
