package daemon

import (
	"context"
	"os"

	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// dropClient takes a process out of the tables; mu held.
func (d *Daemon) dropClient(c *client) {
	if c.gone {
		return
	}
	c.gone = true
	if c.worker != nil {
		d.table.Disconnected(c.worker.Worker)
	}
	delete(d.clients, c.id)
	c.pending.End()
	c.keys.End()
	d.o.Metrics.Gone(uint64(c.id))
	go c.peer.Close()
	if c.role == wire.RoleCLI {
		return
	}
	if c.role == wire.RoleGuest {
		d.dropGuest(c)
		return
	}
	if !c.keys.HoldsLeases() { // else they end with the process
		c.proc.Release()
	}
	owner := c.self.Owner()
	delete(d.owners, owner)
	d.pipes.Left(owner)
	d.pulls.Left(c)
	d.objects.DropHolder(c, owner)
	d.pulls.OwnerGone(owner)
	d.event(func(m *sched.Machine) { m.RemoveClient(c.id) })
	removeSoon(d.socketOf(owner))
	if !d.closing && d.headIsSet() {
		if len(c.codeFor) > 0 {
			go c.tasks.Add(d.ctx, func(context.Context) { d.dropCodeOf(c) }) // behind the requests that it has made
		}
		if c.creates {
			d.head.OwnerDied(owner)
		}
	}
}

// removeSoon deletes the socket of a process that is gone. It does not wait for the disk.
func removeSoon(path string) { go os.Remove(path) }
