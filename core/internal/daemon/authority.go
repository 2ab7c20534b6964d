package daemon

import (
	"context"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/objects"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// The functions of this file decide which process may send which request. The processes of a
// session trust each other with data, but a faulty process must not end objects, leases or
// actors of another one. Leases, pins and the state of a worker need no check: the daemon
// looks them up among those of the process that asks.

// maxWanted is the largest number of leases that a client can want of one class. Without a
// bound a faulty client would let sums overflow.
const maxWanted = 1 << 20

// guestMay lists what a guest may send: what concerns leases and the workers that have them. All else it asks its own daemon.
var guestMay = map[wire.Type]bool{
	wire.TEnvDefine: true, wire.TClassDefine: true, wire.TClassRetire: true, wire.TWhoHolds: true,
	wire.TLeaseWant: true, wire.TLeaseReturn: true, wire.TLeaseMove: true, wire.TForget: true,
}

// mayAsk returns an error if the message may not come from a guest, and the process is one.
func mayAsk(c *client, t wire.Type) error {
	if c.role == wire.RoleGuest && !guestMay[t] {
		return fault.New(fault.BadRequest, "%s came from a process of node %d, and may be sent to that process's own daemon only", t, c.self.Owner().Node())
	}
	return nil
}

// knowsOwner reports whether an owner lives as far as this daemon knows. Whether an owner of
// another node does is not this daemon's to say; mu held.
func (d *Daemon) knowsOwner(o ids.Owner) bool {
	return d.owners[o] != nil || o.Node() != d.o.Number
}

// mayStop returns an error unless the process may end the daemon. Only the command line may.
func mayStop(c *client) error {
	if c.role != wire.RoleCLI {
		return fault.New(fault.BadRequest, "a %s cannot end the daemon", c.role)
	}
	return nil
}

// mayWrite returns an error unless the process may create the object. Its owner may. A worker
// may create the results of tasks of its own job, and an actor results for every job; mu held.
func (d *Daemon) mayWrite(c *client, id ids.Object) error {
	owner := d.owners[id.Owner()]
	switch {
	case owner == c:
		return nil
	case id.Index() == 0, c.worker == nil,
		c.worker.actor == nil && (owner == nil || owner.job != c.job):
		return fault.New(fault.BadRequest, "object %s: this process may not write it", id)
	}
	if w := d.objects.Writer(id); w != nil && w == objects.Holder(owner) {
		return fault.New(fault.BadRequest, "object %s: its owner is writing it", id)
	}
	return nil
}

// owns reports whether the process owns the object, or did when it sent its message; mu held.
func (c *client) owns(id ids.Object) bool {
	o := id.Owner()
	return o == c.self.Owner() || o == c.formerOwner
}

// mayFree returns an error unless the process may free the object. Its owner may, and so may
// the process that is still writing it or waits for room to write it; mu held.
func (d *Daemon) mayFree(c *client, id ids.Object) error {
	if c.owns(id) {
		return nil
	}
	if d.objects.Writer(id) == objects.Holder(c) || d.objects.WaitsForRoom(c, id) {
		return nil
	}
	return fault.New(fault.BadRequest, "object %s: this process does not own it, and may not free it", id)
}

// mayCreate returns an error unless the process may register the actor. The actor's owner may,
// if the actor's id belongs to the owner's job. From now on the head is to hear of the owner's end.
func (d *Daemon) mayCreate(c *client, rec *record.Actor) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if rec.Owner != c.self.Owner() {
		return fault.New(fault.BadRequest, "actor %s: it can be created by its owner only", rec.ClassName)
	}
	if !c.mayName(rec.ID) {
		return fault.New(fault.BadRequest, "actor %s: its id belongs to another job", rec.ClassName)
	}
	c.creates = true
	return nil
}

// mayName reports whether an actor's id belongs to the job of the process; mu held.
func (c *client) mayName(id ids.Actor) bool {
	return c.job != nil && ids.Job(id[len(id)-ids.JobSize:]) == c.job.ID
}

// mayRelease returns an error unless the process may say that no handle of the actor is left.
// The actor's owner may, since it counts the handles.
func (d *Daemon) mayRelease(ctx context.Context, c *client, id ids.Actor) error {
	rec, err := d.head.Actor(ctx, id)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if rec.Owner != c.self.Owner() {
		return fault.New(fault.BadRequest, "%s: this process does not own it, and may not release it", &rec)
	}
	return nil
}
