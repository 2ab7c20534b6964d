package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/vmihailenco/msgpack/v5"
	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/transport"
	"github.com/eagleray/eagleray/core/wait"
	"github.com/eagleray/eagleray/core/wire"
)

// A worker that is to end while others need what it owns moves out of its
// process: its identity, table, tasks, leases and the connections themselves
// go to an heir in the daemon's process, which goes on where it stopped. Nobody
// at the other ends notices. So the process can end at once, and with it what it holds.

// How long the parts of a move may take.
const (
	quietPatience = 2 * time.Second  // for acknowledgements under way
	movePatience  = 30 * time.Second // for the heir to have taken over
)

// move hands everything over; false: it could not begin, nothing has changed. mu held.
func (c *Client) move() bool {
	c.mu.Unlock()
	u, err := c.findHeir()
	over := err != nil && c.isOver(err)
	c.mu.Lock()
	switch {
	case over:
		return true
	case err != nil:
		c.warn("no heir for what this worker owns: %v", err)
		return false
	}
	defer u.Close()
	c.settleDown()
	w, fds := c.park()
	c.mu.Unlock()
	err = handOver(u, w, fds)
	lost := err != nil && !c.isOver(err)
	c.mu.Lock()
	if lost {
		c.warn("what this worker owned is lost: %v", err)
	}
	return true
}

// isOver reports whether handing over failed because the job or the session has
// ended: then nobody misses what this worker owned. Where the error does not
// tell, asking for another heir does.
func (c *Client) isOver(err error) bool {
	if nobodyNeeds(err) {
		return true
	}
	u, err := c.findHeir()
	if err == nil {
		u.Close()
	}
	return nobodyNeeds(err)
}

// nobodyNeeds reports whether there is no heir because the job or the session
// has ended.
func nobodyNeeds(err error) bool {
	return fault.CodeOf(err) == fault.Closed || errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ENOENT)
}

func (c *Client) warn(format string, a ...any) {
	fmt.Fprintf(os.Stderr, "eagleray: "+format+"\n", a...)
}

// findHeir opens a connection that leads to an heir.
func (c *Client) findHeir() (*net.UnixConn, error) {
	u, _, fd, err := wire.Dial(c.opts.Socket, wire.Hello{Version: wire.Version, Role: wire.RoleHandover, OwnerID: c.self[:]})
	if fd >= 0 {
		unix.Close(fd)
	}
	if err != nil {
		return nil, err
	}
	if err := hearFrom(u); err != nil {
		u.Close()
		return nil, err
	}
	return u, nil
}

// hearFrom waits for a sign of the heir.
func hearFrom(u *net.UnixConn) error {
	if err := u.SetDeadline(time.Now().Add(movePatience)); err != nil {
		return err
	}
	var b [1]byte
	_, err := u.Read(b[:])
	return err
}

// settleDown lets go of what only this process's program held, asks for no more
// leases, and waits until nothing is under way that cannot be handed over; mu held.
func (c *Client) settleDown() {
	c.takeDrops()
	for gen := range c.streams {
		c.leaveStream(ids.NewObject(gen, c.self, c.info.Job, 1))
	}
	for _, l := range c.leases {
		l.recall = true // what it has is finished, no more is sent
	}
	for _, l := range c.leases {
		switch {
		case l.lost != nil:
			c.retryLost(l, "the worker is gone")
		case l.conn != nil && l.busy == 0:
			c.returnLease(l)
		}
	}
	for _, k := range c.classes {
		if k.want > 0 {
			k.want = 0
			c.push(wire.TLeaseWant, wire.LeaseWant{ClassID: k.id})
		}
	}
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
	c.carryOut()
	for deadline := time.Now().Add(quietPatience); !c.quiet() && !c.closed && time.Now().Before(deadline); {
		c.poller.Await(wait.New(), time.Now().Add(time.Millisecond))
	}
	c.local.DropSpare()
}

// quiet reports whether all that we told other owners has arrived; mu held.
func (c *Client) quiet() bool {
	return c.links.Quiet() && c.table.Unregistered() == 0 && c.limbo == 0
}

// park stops all reading and writing and writes down where everything stands.
// Afterwards this client does nothing any more; mu held, released meanwhile.
func (c *Client) park() (*will, []int) {
	// Nobody new is let in: who connects from now on waits for the heir.
	c.mu.Unlock()
	c.listener.Stop()
	c.mu.Lock()
	c.closed, c.why = true, fault.New(fault.Closed, "this worker is ending")
	c.local.DropSpare()
	c.local.End(c.why)
	c.poller.End()
	c.poller.AwaitNoLeader()
	w := &will{Next: c.table.Peek() - 1}
	fds := []int{c.listener.FD()}
	served := c.served.Detach()
	for _, x := range served {
		w.Serving = append(w.Serving, willServing{Owner: append([]byte(nil), x.Who[:]...), State: x.State})
		fds = append(fds, transport.Descriptor(x.Peer.Conn()))
	}
	c.carryOut()
	for _, l := range c.links.Detach() {
		w.Links = append(w.Links, willLink{Addr: l.Addr, State: l.State, GiveBack: l.Unsent[wire.TRefReturn], Again: c.table.Unregistered() > 0})
		fds = append(fds, transport.Descriptor(l.Conn))
	}
	fds = c.inventory(w, fds, served)
	c.mu.Unlock()
	// What the daemon was told so far, it knows now.
	ctx, cancel := context.WithTimeout(context.Background(), movePatience)
	_ = c.daemon.Call(ctx, wire.TObjStats, nil, nil) // its end ends us
	cancel()
	c.mu.Lock()
	return w, fds
}

// handOver sends the will and waits until the heir lives.
func handOver(u *net.UnixConn, w *will, fds []int) error {
	body, err := msgpack.Marshal(w)
	if err != nil {
		return fmt.Errorf("write down what is handed over: %w", err)
	}
	if err := wire.SendParcel(u, body, fds); err != nil {
		return fmt.Errorf("hand over: %w", err)
	}
	if err := hearFrom(u); err != nil {
		return fmt.Errorf("hand over: %w", err)
	}
	return nil
}
