package client

import (
	"context"
	"errors"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/handover"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/transport"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A worker that is to end while others need what it owns moves out of its process:
// its identity, its reference table, its tasks, its leases and the connections
// themselves go to a successor in the daemon's process, which goes on where the worker
// stopped. The processes at the other ends do not notice. So the worker's process can
// end at once, and with it what it holds.

// quietPatience is how long a move waits for acknowledgements under way.
const quietPatience = 2 * time.Second

// move hands everything over. An error says that the move could not begin and that
// nothing has changed. After nil the process may end: its successor goes on, or nobody
// needs what the process owned, or that is lost, which a warning says; mu held.
func (c *Client) move() error {
	u, over, err := c.askForSuccessor()
	switch {
	case over:
		return nil
	case err != nil:
		return err
	}
	defer u.Close()
	c.prepareMove()
	w, fds := c.stopAndCapture()
	c.handOver(u, w, fds)
	return nil
}

// askForSuccessor is findSuccessor for callers that hold the mutex, which is released meanwhile. Over: there is none because
// the job or the session has ended.
func (c *Client) askForSuccessor() (u *net.UnixConn, over bool, err error) {
	c.mu.Unlock()
	defer c.mu.Lock()
	u, err = c.findSuccessor()
	return u, err != nil && c.isOver(err), err
}

// handOver sends the snapshot and the connections, and warns when that fails; mu held, released meanwhile.
func (c *Client) handOver(u *net.UnixConn, w *handover.Snapshot, fds []int) {
	c.mu.Unlock()
	defer c.mu.Lock()
	if err := handover.Send(u, w, fds); err != nil && !c.isOver(err) {
		c.warn("what this worker owned is lost: %v", err)
	}
}

// isOver reports whether handing over failed because the job or the session has
// ended: then nobody misses what this worker owned. Where the error does not
// tell, asking for another successor does.
func (c *Client) isOver(err error) bool {
	if nobodyNeeds(err) {
		return true
	}
	if errors.Is(err, handover.ErrOtherVersion) {
		return false
	}
	u, err := c.findSuccessor()
	if err == nil {
		u.Close()
	}
	return nobodyNeeds(err)
}

// nobodyNeeds reports whether there is no successor because the job or the session
// has ended.
func nobodyNeeds(err error) bool {
	return fault.CodeOf(err) == fault.Closed || transport.Ended(err)
}

// findSuccessor opens a connection that leads to a successor, which reads the
// snapshots that this process writes.
func (c *Client) findSuccessor() (*net.UnixConn, error) {
	u, _, fd, err := wire.Dial(c.opts.Socket, wire.Hello{Version: wire.Version, Role: wire.RoleHandover, OwnerID: c.self[:]})
	if fd >= 0 {
		unix.Close(fd)
	}
	if err != nil {
		return nil, err
	}
	err = handover.AwaitVersion(u)
	if err != nil {
		u.Close()
		return nil, err
	}
	return u, nil
}

// prepareMove lets go of what only this process's program held, asks for no more
// leases, and waits until nothing is under way that cannot be handed over; mu held.
func (c *Client) prepareMove() {
	c.TakeDrops()
	c.submit.PrepareMove()
	var mine []*refs.Object
	c.table.Each(func(o *refs.Object) bool {
		if o.Local() > 0 {
			mine = append(mine, o)
		}
		return true
	})
	c.table.LeaveBatches()
	for _, o := range mine {
		c.table.Unref(o, o.Local())
	}
	c.table.CarryOut()
	for deadline := time.Now().Add(quietPatience); !c.quiet() && !c.Closed() && time.Now().Before(deadline); {
		c.poller.Await(wait.New(), time.Now().Add(time.Millisecond))
	}
	c.local.DropSpare()
}

// quiet reports whether all that we told other owners has arrived, and no connection to another node's daemon is being opened;
// mu held.
func (c *Client) quiet() bool {
	return c.links.Quiet() && c.table.Unregistered() == 0 && c.submit.Quiet() && !c.guests.Opening()
}

// stopAndCapture ends this process's part in the session without a word to the others:
// nothing is read or written any more, and what comes for the process's store is not
// kept. It returns where everything stands, with the descriptors of the connections;
// mu held, released meanwhile.
func (c *Client) stopAndCapture() (*handover.Snapshot, []int) {
	c.stopListening()
	c.guests.Halt() // first: what other nodes' daemons say is lost on a session that has ended
	c.SetClosed(fault.New(fault.Closed, "this worker is ending"))
	c.submit.End(c.Why())
	c.local.UnpinUnused() // the process puts and looks at nothing any more
	c.local.End(c.Why())
	c.borrows.End()
	c.poller.End()
	c.poller.AwaitNoLeader()
	v := &capture{c: c, fds: []int{c.listener.FD()}}
	served := c.served.Detach()
	v.served(served)
	c.table.CarryOut()
	v.links(c.links.Detach())
	v.references(served)
	v.tasks()
	c.submit.ReturnElsewhere()
	v.guests(c.guests.Detach())
	c.awaitDaemon()
	return &v.snapshot, v.fds
}

// stopListening lets nobody new in: whoever connects from now on waits for the successor; mu held, released meanwhile.
func (c *Client) stopListening() {
	c.mu.Unlock()
	defer c.mu.Lock()
	c.listener.Stop()
}

// awaitDaemon waits until the daemon knows what it was told so far; mu held, released meanwhile.
func (c *Client) awaitDaemon() {
	c.mu.Unlock()
	defer c.mu.Lock()
	ctx, cancel := context.WithTimeout(context.Background(), handover.Patience)
	defer cancel()
	_ = c.daemon.Call(ctx, wire.TObjStats, nil, nil) // its end ends us
}
