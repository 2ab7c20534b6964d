package daemon

import (
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/sched"
	"github.com/eagleray/eagleray/core/started"
	"github.com/eagleray/eagleray/core/wire"
)

// life is what this node keeps of one incarnation of an actor that may restart:
// which calls it has begun, for the callers that ask after its end.
type life struct {
	page    *started.Reader // nil: its worker has not asked for one
	over    bool
	numbers *started.Numbers // once it is over
	detail  string           // how its process ended
	heard   []func()         // who waits for that
}

// livesKept is how long callers may take to ask about an incarnation that has
// ended. To those who come later every call counts as started.
const livesKept = 2 * time.Minute

// startPage hands the worker of an actor the page on which it notes which
// calls it begins. The connection has no other use.
func (d *Daemon) startPage(u *net.UnixConn, h *wire.Hello) error {
	if len(h.OwnerID) != ids.OwnerSize {
		return fault.New(fault.BadRequest, "an owner's id has %d bytes, not %d", ids.OwnerSize, len(h.OwnerID))
	}
	pid, pidfd := peerProcess(u, h.Pid)
	closeFD(pidfd)
	fd, page, err := started.Create()
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	d.mu.Lock()
	var l *life
	if c := d.owners[ids.Owner(h.OwnerID)]; c != nil && c.worker != nil && c.pid == pid && c.worker.actor != nil {
		l = d.lives[c.worker.actor.key()]
	}
	ok := l != nil && !l.over && l.page == nil
	if ok {
		l.page = page
	}
	d.mu.Unlock()
	if !ok {
		page.Close()
		return fault.New(fault.BadRequest, "process %d is not the worker of an actor that waits for its page", pid)
	}
	defer u.Close()
	return wire.SendHelloReply(u, wire.HelloReply{Version: wire.Version}, fd)
}

// begins an incarnation on this node; mu held.
func (d *Daemon) lifeBegins(a *actor) {
	if a.rec.MaxRestarts != 0 && d.lives[a.key()] == nil { // there is one if its first worker died before it got it
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
