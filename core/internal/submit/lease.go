package submit

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// LeaseGranted takes a lease that the daemon grants, and has its worker's socket opened.
func (c *Submitter) LeaseGranted(g *wire.LeaseGrant) {
	l, page := c.Granted(g)
	if l == nil {
		return
	}
	c.openLease(l, g, page)
}

// openLease has the socket of a lease's worker opened.
func (c *Submitter) openLease(l *Lease, g *wire.LeaseGrant, page int) {
	o := NewChannel(c, g.Addr)
	o.Lease, o.gives = l, &g.Assignment
	c.fx.Connect(o, o.addr, wire.Hello{Version: wire.Version, Role: wire.RoleLease, OwnerID: c.Self[:], Addr: c.Addr, LeaseID: g.LeaseID, Slot: l.Slot(), JobID: c.Job[:]}, page)
}

// leaseConnected notes that the socket to a lease's worker is open, or cannot be opened. The
// daemon may have said meanwhile that others wait for the lease, or that its worker has ended.
func (c *Submitter) leaseConnected(l *Lease, o *Channel, err error) {
	k := l.Class
	l.Opened()
	if err != nil {
		l.Lost = nil
		c.Drop(l, wire.LeaseReturn{LeaseID: l.ID, Unusable: true})
		c.AdjustWant(k)
		return
	}
	l.Channel = o
	switch {
	case l.Broken && l.Node != 0:
		c.ReturnLease(l)
		c.AdjustWant(k)
		return
	case l.Broken: // the worker has ended; a child that it forked may still take connections
		o.CloseWhenRead()
		return
	}
	o.assign(o.gives)
	o.gives = nil
	l.Serve()
	c.pump(k)
	if l.Busy == 0 {
		c.LeaseIdle(l)
	}
}

// ClassTrouble notes that no worker can be had for a class. When no node is large enough its tasks wait
// and are infeasible. When the environment cannot be made the queued tasks fail, and later tasks try again.
func (c *Submitter) ClassTrouble(id uint32, f *fault.Error) {
	k := c.Classes[id]
	if k == nil {
		return
	}
	defer k.Note()
	if f.Code != fault.TaskUnschedulable {
		k.Unwanted()
		c.failQueue(k, f)
		return
	}
	k.Bad = f
	k.Queue.Each(func(t *Task) { c.infeasible(t, f) })
}

// failQueue fails the queued tasks of a class.
func (c *Submitter) failQueue(k *Class, f *fault.Error) {
	for k.Queue.Len() > 0 {
		c.FailTask(k.Queue.Pop(), f)
	}
}
