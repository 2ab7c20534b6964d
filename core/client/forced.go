package client

import (
	"time"

	"github.com/eagleray/eagleray/core/wire"
)

// ensureEnded: the task is being cancelled by force. Its worker ends itself when
// it hears of that; one that is stopped or stuck does not hear, and is ended by
// the daemon; mu held.
func (c *Client) ensureEnded(t *task) {
	o := t.on
	if o == nil || o.lease == nil {
		return
	}
	time.AfterFunc(cancelPatience, func() { c.endWorker(o, t) })
}

// endWorker has the daemon end the worker that a task was sent to, unless the task has ended.
func (c *Client) endWorker(o *outConn, t *task) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := o.lease; !c.closed && !l.gone && o.sent.get(t.seq) == t {
		l.paused = true // nothing more goes there: what was sent comes back when it is gone
		c.push(wire.TLeaseReturn, wire.LeaseReturn{LeaseID: l.id, Unusable: true})
	}
}
