package client

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/progress"
	"github.com/eagleray/eagleray/core/wire"
)

// The workers of this process's leases note on a page which tasks they begin, see
// package progress. When a worker is lost each task that it had begun has used one
// run; the tasks behind are sent elsewhere and have used none.

// takeSlot returns a slot on the page for a lease, 0 when there is none, and the
// descriptor of the page.
func (c *submitter) takeSlot(lease uint64) (slot, fd int) {
	if c.begun == nil {
		var err error
		if c.begun, err = progress.NewLeasePage(); err != nil {
			c.fx.Log(fmt.Sprintf("which tasks a lost worker had begun will not be known: %v", err))
			c.begun = new(progress.LeasePage)
		} else {
			c.fx.Descriptor(c.begun.FD(), true)
		}
	}
	if slot = c.begun.Take(lease); slot == 0 {
		return 0, -1
	}
	return slot, c.begun.FD()
}

// giveSlotBack frees a lease's slot. It returns the number of the task that the lease's worker began
// last, 0 for none; false: that is not known.
func (c *submitter) giveSlotBack(l *lease) (seq uint32, known bool) {
	if c.begun == nil {
		return 0, false
	}
	seq, known = c.begun.GiveBack(l.slot, l.id)
	l.slot = 0
	return seq, known
}

// dropBegun closes the page.
func (c *submitter) dropBegun() {
	if c.begun != nil && c.begun.FD() >= 0 {
		c.fx.Descriptor(c.begun.FD(), false)
		c.begun.Close()
	}
}

// begunOf returns how many of a lost lease's tasks, in the order in which they
// were sent, had begun. When nobody knows, the first one counts as begun.
func (c *submitter) begunOf(l *lease, tasks []*task) int {
	last, known := c.giveSlotBack(l)
	if !known {
		return min(1, len(tasks))
	}
	n := 0
	for n < len(tasks) && int32(tasks[n].seq-last) <= 0 {
		n++
	}
	return n
}

// An actor that may restart notes for each caller which of its calls it has
// begun, on a page that the daemon reads when this process is gone, see package execute.

// askPage tells the daemon that this actor is about to begin: a worker that
// dies earlier costs it nothing. One that may restart gets the page. Without
// it, calls that were sent count as started when this process dies.
func (c *Client) askPage(restarts bool) *progress.Writer {
	u, _, fd, err := wire.Dial(c.opts.Socket, wire.Hello{Version: wire.Version, Role: wire.RoleProgress, OwnerID: c.self[:]})
	if err == nil {
		u.Close()
		if fd < 0 {
			return nil // it may not restart
		}
		defer unix.Close(fd)
		var w *progress.Writer
		if w, err = progress.OpenActorPage(fd); err == nil {
			return w
		}
	}
	if !restarts {
		return nil
	}
	c.warn("this actor cannot note which calls it begins: %v", err)
	return nil
}
