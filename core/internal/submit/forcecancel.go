package submit

import (
	"github.com/eagleray/eagleray/core/internal/wire"
)

// ensureEnded is called when a task is cancelled by force. Its worker ends itself when
// it hears of that. A worker that is stopped or stuck does not hear, and the daemon ends it.
func (c *Submitter) ensureEnded(t *Task) {
	o := t.on
	if o == nil || o.Lease == nil {
		return
	}
	c.fx.After(CancelPatience, func() { c.endWorker(o, t) })
}

// endWorker asks the daemon to end the worker that a task was sent to, unless the task has ended.
func (c *Submitter) endWorker(o *Channel, t *Task) {
	if l := o.Lease; !l.Gone && o.sent.Get(t.Seq) == t {
		l.Pause() // nothing more goes there: what was sent comes back when it is gone
		c.fx.Push(wire.TLeaseReturn, wire.LeaseReturn{LeaseID: l.ID, Unusable: true})
	}
}
