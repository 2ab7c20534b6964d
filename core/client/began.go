package client

import (
	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/started"
	"github.com/eagleray/eagleray/core/wire"
)

// An actor that may restart notes for each caller which of its calls it has
// begun, on a page that the daemon reads when this process is gone: see package
// started. The executor has the page; each caller's connection its slot.

// askPage tells the daemon that this actor is about to begin: a worker that
// dies earlier costs it nothing. One that may restart gets the page. Without
// it, calls that were sent count as started when this process dies.
func (c *Client) askPage(restarts bool) *started.Writer {
	u, _, fd, err := wire.Dial(c.opts.Socket, wire.Hello{Version: wire.Version, Role: wire.RoleStarted, OwnerID: c.self[:]})
	if err == nil {
		u.Close()
		if fd < 0 {
			return nil // it may not restart
		}
		defer unix.Close(fd)
		var w *started.Writer
		if w, err = started.Open(fd); err == nil {
			return w
		}
	}
	if !restarts {
		return nil
	}
	c.warn("this actor cannot note which calls it begins: %v", err)
	return nil
}

// begins notes that the call is about to run; mu held.
func (in *inConn) begins(k *call) {
	// One that waited long for its arguments may come after later ones.
	if d := int32(k.seq - in.latest); d > 0 {
		in.latest = k.seq
		in.slot.Begin(k.seq)
	}
}
