package submit

import (
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/planted"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// The end of a worker with tasks on it is told twice: its socket breaks, and the daemon says how the
// process ended. The two come in any order. What becomes of the tasks is decided when both have come,
// or when the own node's daemon is late.
//
// The word of another node's daemon and the worker's last answers come through different pipes, so the word may
// be early: the socket is read until it ends. It does end, because the other daemon ends the pipe of a process that is
// gone. The word comes as well, or else the news that the node is lost, however slow the network is. So no timer
// is needed for them.

// brokenGrace is how long the daemon may take to say how a worker ended whose socket is broken.
const brokenGrace = 500 * time.Millisecond

// leaseLost notes that the socket of a lease's worker broke, and which tasks the worker had.
func (c *Submitter) leaseLost(l *Lease, tasks []*Task) {
	l.Lost = tasks
	detail := l.Detail
	c.Drop(l, wire.LeaseReturn{LeaseID: l.ID, Unusable: true})
	if l.Broken || len(tasks) == 0 {
		c.retryLost(l, detail)
		return
	}
	c.Leases[l.ID] = l // for LeaseBroken
	if l.Node != 0 {
		return
	}
	c.fx.After(brokenGrace, func() {
		if c.Leases[l.ID] == l {
			c.retryLost(l, "the worker is gone")
		}
	})
}

// LeaseBroken is told by the daemon how a lease's worker ended.
func (c *Submitter) LeaseBroken(b *wire.LeaseBroken) {
	l := c.Leases[b.LeaseID]
	if l == nil {
		return
	}
	l.Broken, l.Detail, l.Code, l.Held, l.Begun, l.Known = true, b.Detail, fault.Code(b.Code), b.Bytes, b.Begun, b.Known
	if b.Memory > 0 {
		c.memory = b.Memory
	}
	switch {
	case l.Gone:
		c.retryLost(l, b.Detail)
	case l.Node != 0: // its last answers may still be on their way
		c.LeaseRecalled(l.ID)
	case l.Channel != nil: // a child that it forked keeps the socket open
		l.Channel.CloseWhenRead()
	}
}

// retryLost queues the tasks of a lost worker again, or ends those that may not run again.
func (c *Submitter) retryLost(l *Lease, detail string) {
	delete(c.Leases, l.ID)
	tasks := l.Lost
	l.Lost = nil
	begun := c.begunOf(l, tasks)
	var again []*Task
	for i, t := range tasks {
		t.on = nil
		if i < begun && !t.Canceled && planted.Strikes(planted.LostRetry) {
			continue
		}
		if c.lostWithWorker(t, l, detail, setbackAt(l, i, begun)) {
			again = append(again, t)
		}
	}
	if len(again) > 0 {
		pushFront(&l.Class.Queue, again)
	}
	c.pump(l.Class)
}

// begunOf returns how many of a lost lease's tasks, in the order in which they
// were sent, had begun. When nobody knows, the first one counts as begun. If another
// node's daemon cannot say it, or the node is lost, all count as begun: any of them may
// have run by now, and none may run more often than its max_retries allow.
func (c *Submitter) begunOf(l *Lease, tasks []*Task) int {
	last, known := c.GiveSlotBack(l)
	if l.Node != 0 {
		last, known = l.Begun, l.Known
	}
	switch {
	case !known && l.Node != 0:
		return len(tasks)
	case !known:
		return min(1, len(tasks))
	}
	n := 0
	for n < len(tasks) && int32(tasks[n].Seq-last) <= 0 {
		n++
	}
	return n
}
