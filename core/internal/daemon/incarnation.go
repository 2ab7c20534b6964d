package daemon

import (
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/progress"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/internal/workers"
)

// incarnationKept is how long callers may take to ask about an incarnation that has
// ended. Callers that ask later are told that every call had begun.
const incarnationKept = 2 * time.Minute

// startPage serves a connection by which a worker says that it begins to create its
// actor. If the actor may restart, the worker gets the page on which it notes which
// calls it begins. The connection has no other use.
func (d *Daemon) startPage(u *net.UnixConn, h *wire.Hello) error {
	if len(h.OwnerID) != ids.OwnerSize {
		return fault.New(fault.BadRequest, "an owner's id has %d bytes, not %d", ids.OwnerSize, len(h.OwnerID))
	}
	pid := workers.PeerPid(u, h.Pid)
	x, err := d.creationBegins(ids.Owner(h.OwnerID), pid)
	if err != nil {
		return err
	}
	fd := -1
	if x != nil {
		var page *progress.Reader
		if fd, page, err = progress.CreateActorPage(); err != nil {
			return err
		}
		defer unix.Close(fd)
		if !d.keepPage(x, page) {
			page.Close()
			return fault.New(fault.BadRequest, "the actor of process %d has ended", pid)
		}
	}
	defer u.Close()
	return wire.SendHelloReply(u, wire.HelloReply{Version: wire.Version}, fd)
}

// keepPage keeps the page of an incarnation until the incarnation ends. It reports false if
// that has ended already.
func (d *Daemon) keepPage(x *incarnation, page *progress.Reader) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if x.ended {
		return false
	}
	x.page = page
	return true
}

// creationBegins notes that the worker of an actor begins to create it. It returns the
// actor's incarnation, nil if the actor may not restart.
func (d *Daemon) creationBegins(owner ids.Owner, pid int) (*incarnation, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.owners[owner]
	if c == nil || c.worker == nil || c.pid != pid || c.worker.actor == nil || c.worker.actor.creating {
		return nil, fault.New(fault.BadRequest, "process %d is not the worker of an actor that is to begin", pid)
	}
	a := c.worker.actor
	d.beginCreation(a)
	return d.incarnations[a.key()], nil
}

// keepIncarnation makes the entry of an incarnation whose actor may restart; mu held.
func (d *Daemon) keepIncarnation(a *actor) {
	if a.rec.MaxRestarts != 0 {
		d.incarnations[a.key()] = &incarnation{}
	}
}

// endIncarnation notes how an incarnation ended, when its process is gone, and answers
// those who wait for that; mu held.
func (d *Daemon) endIncarnation(key sched.ActorID, detail string) {
	x := d.incarnations[key]
	if x == nil || x.ended {
		return
	}
	x.ended, x.detail = true, detail
	if x.page != nil {
		x.numbers = x.page.Read()
		x.page.Close()
		x.page = nil
	}
	for _, f := range x.waiting {
		f()
	}
	x.waiting = nil
	time.AfterFunc(incarnationKept, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.incarnations, key)
	})
}
