package daemon

import (
	"net"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/actorends"
	"github.com/eagleray/eagleray/core/internal/progress"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/internal/workers"
)

// startPage serves a connection by which a worker says that it begins to create its
// actor. If the actor may restart, the worker gets the page on which it notes which
// calls it begins. The connection has no other use.
func (d *Daemon) startPage(u *net.UnixConn, h *wire.Hello) error {
	if len(h.OwnerID) != ids.OwnerSize {
		return fault.New(fault.BadRequest, "an owner's id has %d bytes, not %d", ids.OwnerSize, len(h.OwnerID))
	}
	pid := workers.PeerPid(u, h.Pid)
	id, kept, err := d.creationBegins(ids.Owner(h.OwnerID), pid)
	if err != nil {
		return err
	}
	fd := -1
	if kept {
		var page *progress.Reader
		if fd, page, err = progress.CreateActorPage(); err != nil {
			return err
		}
		defer unix.Close(fd)
		if !d.ends.Keep(id, page) {
			page.Close()
			return fault.New(fault.BadRequest, "the actor of process %d has ended", pid)
		}
	}
	defer u.Close()
	return wire.SendHelloReply(u, wire.HelloReply{Version: wire.Version}, fd)
}

// promisePage serves a connection by which the worker of an exclusive actor asks for the page of the node's promise. The answer has
// no page where this node is the only one. The page says nothing that a process of this user may not know.
func (d *Daemon) promisePage(u *net.UnixConn) error {
	defer u.Close()
	fd := -1
	if d.o.Promise != nil {
		fd = d.o.Promise.FD()
	}
	return wire.SendHelloReply(u, wire.HelloReply{Version: wire.Version}, fd)
}

// creationBegins notes that the worker of an actor begins to create it. It returns the
// actor's incarnation, and whether callers may ask about it later: whether the actor may restart.
func (d *Daemon) creationBegins(owner ids.Owner, pid int) (id actorends.ID, kept bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.owners[owner]
	if c == nil || c.worker == nil || c.pid != pid || c.worker.actor == nil || c.worker.actor.creating {
		return id, false, fault.New(fault.BadRequest, "process %d is not the worker of an actor that is to begin", pid)
	}
	a := c.worker.actor
	d.beginCreation(a)
	return a.endID(), d.ends.Has(a.endID()), nil
}
