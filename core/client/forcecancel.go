package client

import (
	"github.com/eagleray/eagleray/core/wire"
)

// ensureEnded is called when a task is cancelled by force. Its worker ends itself when
// it hears of that. A worker that is stopped or stuck does not hear, and the daemon ends it.
func (c *submitter) ensureEnded(t *task) {
	o := t.on
	if o == nil || o.lease == nil {
		return
	}
	c.fx.After(cancelPatience, func() { c.endWorker(o, t) })
}

// endWorker has the daemon end the worker that a task was sent to, unless the task has ended.
func (c *submitter) endWorker(o *outConn, t *task) {
	if l := o.lease; !l.gone && o.sent.get(t.seq) == t {
		l.paused = true // nothing more goes there: what was sent comes back when it is gone
		c.fx.Push(wire.TLeaseReturn, wire.LeaseReturn{LeaseID: l.id, Unusable: true})
	}
}
