package pipes

import (
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// far runs the end of a pipe at which the target is.
func (p *Pipes) far(e *end, stream net.Conn, from uint32, target ids.Owner) error {
	h, err := wire.ReadRelayedHello(stream)
	if err != nil {
		return fmt.Errorf("pipe from node %d to %s: the hello: %w", from, target, err)
	}
	err = check(h, from, target)
	switch {
	case err != nil:
	case target.Node() != p.o.Node:
		err = fault.New(fault.BadRequest, "pipe from node %d to %s: the process is on node %d, and this is node %d", from, target, target.Node(), p.o.Node)
	case from == p.o.Node:
		err = fault.New(fault.BadRequest, "pipe to %s: it comes from this node itself", target)
	}
	if err == nil && target.IsDaemon() {
		e.release()
		return p.o.Here.Guest(stream, h)
	}
	if err != nil {
		if target.IsDaemon() {
			_ = wire.RefuseHello(stream, err)
		}
		return err
	}
	p.belongs(e, target)
	u, err := p.dial(e, target, h)
	if err != nil {
		return nil // the process has ended, which is what the caller is told
	}
	c, err := e.takes(u)
	if err != nil {
		return nil // this end was closed
	}
	r := relay{process: c, stream: stream, linger: p.lingers(h), outlast: p.lingers(h), stop: p.ctx.Done()}
	r.run()
	return nil
}

// How long far waits before it tries again to connect to a process that lives and takes no
// connection: its queue of connections is full, or this process has no free descriptor.
const (
	dialAgain     = time.Millisecond
	dialAgainMost = 100 * time.Millisecond
)

var errEnded = errors.New("the process has ended")

// dial connects to a process of this node and says the hello. It fails only when the process has ended, or another user has taken its place.
func (p *Pipes) dial(e *end, target ids.Owner, h *wire.Hello) (*net.UnixConn, error) {
	for pause := dialAgain; ; pause = min(2*pause, dialAgainMost) {
		path, ok := p.o.Here.Socket(target)
		if !ok {
			return nil, errEnded
		}
		u, err := p.introduce(path, *h)
		if err == nil {
			return u, nil
		}
		if errors.Is(err, wire.ErrOtherUser) { // no process of this session is there
			return nil, err
		}
		select {
		case <-time.After(pause):
		case <-e.left:
			return nil, errEnded
		case <-p.ctx.Done():
			return nil, p.ctx.Err()
		}
	}
}

// introduce connects to the socket at a path, and says the hello there. With the hello of a lease goes the page of begun
// tasks, because the caller cannot send one. Without the page it would seem that the worker has begun nothing. So it is
// an error if the page cannot be sent.
func (p *Pipes) introduce(path string, h wire.Hello) (_ *net.UnixConn, err error) {
	page := -1
	if h.Slot = 0; h.Role == wire.RoleLease {
		if h.Slot, page, err = p.o.Here.Page(ids.Owner(h.OwnerID), h.LeaseID); err != nil {
			return nil, err
		}
	}
	var rights []byte
	if page >= 0 {
		defer unix.Close(page)
		rights = unix.UnixRights(page)
	}
	hello, err := wire.AppendMessage(nil, wire.Request, wire.THello, 1, 0, h)
	if err != nil {
		return nil, err
	}
	u, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	n := 0
	if err = wire.CheckPeer(u); err == nil {
		n, _, err = u.WriteMsgUnix(hello, rights, nil)
	}
	if err == nil && n < len(hello) {
		_, err = u.Write(hello[n:])
	}
	if err != nil {
		u.Close()
		return nil, err
	}
	return u, nil
}
