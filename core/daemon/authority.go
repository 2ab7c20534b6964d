package daemon

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/objects"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/core/wire"
)

// Who may ask for what. The processes of a user's session trust each other with
// data, but one that has gone wrong, and says what it must not, takes no other
// one's objects, leases or actors with it. Leases, pins and a worker's own state
// are looked up under the process that asks, so that there is nothing to check.

// maxWanted bounds a want. A hostile one would otherwise overflow sums.
const maxWanted = 1 << 20

// mayStop reports whether the process may end the daemon: a command may.
func mayStop(c *client) error {
	if c.role != wire.RoleCLI {
		return fault.New(fault.BadRequest, "a %s cannot end the daemon", c.role)
	}
	return nil
}

// mayWrite reports whether c may make the object: its owner may, and a process
// that runs a task may make what that returns. Actors answer other jobs, too. mu held.
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

// mayFree reports whether c may say that the object is not needed: its owner
// may, and who has not written it to the end. mu held.
func (d *Daemon) mayFree(c *client, id ids.Object) error {
	if o := id.Owner(); o == c.self.Owner() || o == c.formerOwner {
		return nil
	}
	if d.objects.Writer(id) == objects.Holder(c) || d.objects.WaitsForRoom(c, id) {
		return nil
	}
	return fault.New(fault.BadRequest, "object %s: this process does not own it, and may not free it", id)
}

// mayCreate reports whether c may register the actor: as its owner, in its job.
func (d *Daemon) mayCreate(c *client, rec *record.Actor) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if rec.Owner != c.self.Owner() {
		return fault.New(fault.BadRequest, "actor %s: it can be created by its owner only", rec.ClassName)
	}
	if !c.mayName(rec.ID) {
		return fault.New(fault.BadRequest, "actor %s: its id is of another job", rec.ClassName)
	}
	return nil
}

// mayName reports whether c may create an actor with that id; the daemon's lock is held.
func (c *client) mayName(id ids.Actor) bool {
	return c.job != nil && ids.Job(id[len(id)-ids.JobSize:]) == c.job.ID
}

// mayRelease reports whether c may say that nobody has a handle of the actor:
// its owner counts them.
func (d *Daemon) mayRelease(c *client, id ids.Actor) error {
	rec, err := d.head.Actor(id)
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
