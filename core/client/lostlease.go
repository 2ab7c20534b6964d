package client

import (
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/planted"
	"github.com/eagleray/eagleray/core/wire"
)

// The end of a worker with tasks on it is told twice: its socket breaks, and the daemon says how the
// process ended. The two come in any order. What becomes of the tasks is decided when both have come,
// or when the daemon is late.

// brokenGrace is how long the daemon may take to say how a worker ended whose socket is broken.
const brokenGrace = 500 * time.Millisecond

// leaseLost is told that the socket of a lease's worker broke, and which tasks the worker had.
func (c *submitter) leaseLost(l *lease, tasks []*task) {
	l.lost = tasks
	detail := l.detail
	c.dropLease(l, wire.LeaseReturn{LeaseID: l.id, Unusable: true})
	if l.broken || len(tasks) == 0 {
		c.retryLost(l, detail)
		return
	}
	c.leases[l.id] = l // for LeaseBroken
	c.fx.After(brokenGrace, func() {
		if c.leases[l.id] == l {
			c.retryLost(l, "the worker is gone")
		}
	})
}

// brokenLease is told by the daemon how a lease's worker ended.
func (c *submitter) brokenLease(b *wire.LeaseBroken) {
	l := c.leases[b.LeaseID]
	if l == nil {
		return
	}
	l.broken, l.detail, l.code, l.held = true, b.Detail, fault.Code(b.Code), b.Bytes
	switch {
	case l.gone:
		c.retryLost(l, b.Detail)
	case l.conn != nil: // a child that it forked keeps the socket open
		l.conn.CloseWhenRead()
	}
}

// retryLost queues the tasks of a lost worker again, or ends those that may not run again.
func (c *submitter) retryLost(l *lease, detail string) {
	delete(c.leases, l.id)
	tasks := l.lost
	l.lost = nil
	begun := c.begunOf(l, tasks)
	var again []*task
	for i, t := range tasks {
		t.on = nil
		if i < begun && !t.canceled && planted.Strikes(planted.LostRetry) {
			continue
		}
		if c.lostWithWorker(t, l, detail, l.setbackAt(i, begun)) {
			again = append(again, t)
		}
	}
	if len(again) > 0 {
		l.class.queue.pushFront(again)
	}
	c.pump(l.class)
}
