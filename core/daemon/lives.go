package daemon

import (
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/progress"
	"github.com/eagleray/eagleray/core/sched"
	"github.com/eagleray/eagleray/core/wire"
)

// life is what this node keeps of one incarnation of an actor that may restart:
// which calls it has begun, for the callers that ask after its end.
type life struct {
	page    *progress.Reader // nil: its worker has not asked for one
	over    bool
	numbers *progress.Numbers // once it is over
	detail  string            // how its process ended
	heard   []func()          // who waits for that
}

// livesKept is how long callers may take to ask about an incarnation that has
// ended. To those who come later every call counts as started.
const livesKept = 2 * time.Minute

// startPage hears from the worker of an actor that it is about to begin, and
// hands it the page on which it notes which calls it begins, if the actor may
// restart. The connection has no other use.
func (d *Daemon) startPage(u *net.UnixConn, h *wire.Hello) error {
	if len(h.OwnerID) != ids.OwnerSize {
		return fault.New(fault.BadRequest, "an owner's id has %d bytes, not %d", ids.OwnerSize, len(h.OwnerID))
	}
	pid, pidfd := peerProcess(u, h.Pid)
	closeFD(pidfd)
	l, err := d.actorBegins(ids.Owner(h.OwnerID), pid)
	if err != nil {
		return err
	}
	fd := -1
	if l != nil {
		var page *progress.Reader
		if fd, page, err = progress.CreateActorPage(); err != nil {
			return err
		}
		defer unix.Close(fd)
		d.mu.Lock()
		ok := !l.over
		if ok {
			l.page = page
		}
		d.mu.Unlock()
		if !ok {
			page.Close()
			return fault.New(fault.BadRequest, "the actor of process %d has ended", pid)
		}
	}
	defer u.Close()
	return wire.SendHelloReply(u, wire.HelloReply{Version: wire.Version}, fd)
}

// actorBegins notes that the actor of a process begins; it returns what is kept of one that may restart.
func (d *Daemon) actorBegins(owner ids.Owner, pid int) (*life, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.owners[owner]
	if c == nil || c.worker == nil || c.pid != pid || c.worker.actor == nil || c.worker.actor.begun {
		return nil, fault.New(fault.BadRequest, "process %d is not the worker of an actor that is to begin", pid)
	}
	a := c.worker.actor
	a.begun = true
	return d.lives[a.key()], nil
}

// begins an incarnation on this node; mu held.
func (d *Daemon) lifeBegins(a *actor) {
	if a.rec.MaxRestarts != 0 {
		d.lives[a.key()] = &life{}
	}
}

// lifeEnds: the incarnation's process is gone; mu held.
func (d *Daemon) lifeEnds(key sched.ActorID, detail string) {
	l := d.lives[key]
	if l == nil || l.over {
		return
	}
	l.over, l.detail = true, detail
	if l.page != nil {
		l.numbers = l.page.Read()
		l.page.Close()
		l.page = nil
	}
	for _, f := range l.heard {
		f()
	}
	l.heard = nil
	time.AfterFunc(livesKept, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.lives, key)
	})
}
