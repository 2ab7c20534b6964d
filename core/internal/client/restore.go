package client

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/handover"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/transport"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// successor is a client that is being made from a worker's snapshot. The reference
// table and the submitting half restore themselves; the session restores connections.
type successor struct {
	c        *Client
	snapshot *handover.Snapshot
	files    []*os.File // of the connections that are not restored yet
}

// errHomeLost is why another node's daemon cannot be spoken to any more, when that was lost with its connection.
var errHomeLost = errors.New("the connection to its daemon has ended")

// begin restores the worker's state and starts the successor; mu held.
func (s *successor) begin(at *wire.TakenOver) error {
	c, x := s.c, s.snapshot
	copy(c.info.Worker[:], at.WorkerID)
	c.becomes(c.info.Worker)
	c.table = c.newTable()
	if err := c.table.Restore(&x.Refs, &c.sites); err != nil {
		return err
	}
	tasks, err := c.submit.Restore(&x.Submit)
	if err != nil {
		return err
	}
	// First all channels get their sockets, so that none is without when the session ends early.
	sockets := s.sockets(tasks.Channels())
	for _, part := range []func() error{s.serving, s.links, func() error { return s.channels(tasks.Channels(), sockets) }, s.guests} {
		if err := part(); err != nil {
			return err
		}
	}
	if err := c.table.RestoreHeld(&x.Refs); err != nil {
		return err
	}
	c.table.Sweep()
	s.wake()
	tasks.Resume(at.LeaseIDs)
	for _, node := range tasks.Homes() {
		if !c.guests.At(node) { // its end was on its way
			c.submit.HomeLost(node, errHomeLost)
		}
	}
	c.table.CarryOut()
	c.listener.Start()
	return nil
}

// next returns the descriptor of the next connection. The file stays the successor's.
func (s *successor) next() *os.File {
	f := s.files[0]
	s.files = s.files[1:]
	return f
}

// adopted returns a connection that was handed over.
func (s *successor) adopted() (*net.UnixConn, error) {
	n, err := net.FileConn(s.next())
	if err != nil {
		return nil, fmt.Errorf("a connection that was handed over: %w", err)
	}
	u, ok := n.(*net.UnixConn)
	if !ok {
		n.Close()
		return nil, fmt.Errorf("a connection that was handed over is a %T", n)
	}
	return u, nil
}

// serving restores the connections that borrowers have opened, with their questions.
func (s *successor) serving() error {
	c := s.c
	for i := range s.snapshot.Served {
		x := &s.snapshot.Served[i]
		u, err := s.adopted()
		if err != nil {
			return err
		}
		p := c.served.Resume(u, ids.Owner(x.Owner), x.State)
		for _, q := range x.Questions {
			l, err := c.table.Named([][]byte{q.Object})
			if err != nil {
				return err
			}
			c.table.Question(l[0], p.Question(wire.TRefWait, q.ID))
		}
	}
	return nil
}

// links restores the connections to owners. An owner that may not know all that is
// borrowed from it, or whose connection is not there, is told of all of it again.
func (s *successor) links() error {
	c := s.c
	again := map[string][][]byte{}
	c.table.Each(func(o *refs.Object) bool {
		if !o.Owned() {
			again[o.OwnerAddr()] = append(again[o.OwnerAddr()], o.ID.Raw())
		}
		return true
	})
	for i := range s.snapshot.Links {
		x := &s.snapshot.Links[i]
		u, err := s.adopted()
		if err != nil {
			return err
		}
		l := c.links.Resume(u, x.Addr, x.State)
		if len(x.GiveBack) > 0 {
			l.BatchAll(wire.TRefReturn, x.GiveBack)
		}
		if !x.Again {
			delete(again, x.Addr)
		}
	}
	for addr, list := range again {
		c.table.Registering(len(list))
		c.links.To(addr).BatchAll(wire.TRefBorrow, list)
	}
	return nil
}

// sockets gives the channels their sockets, with the bytes that had arrived and those
// that had not left.
func (s *successor) sockets(channels []*submit.Channel) (sockets []*transport.Conn) {
	for i, o := range channels {
		k := new(transport.Conn)
		if o.Far() {
			k.MarkFar()
		}
		k.Restore(s.snapshot.Sockets[i].Unread, s.snapshot.Sockets[i].Unsent)
		o.Pipe = k
		sockets = append(sockets, k)
	}
	return sockets
}

// channels connects the sockets of the channels.
func (s *successor) channels(channels []*submit.Channel, sockets []*transport.Conn) error {
	for i, o := range channels {
		fd, err := unix.FcntlInt(s.next().Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("a task socket that was handed over: %w", err)
		}
		if err := s.c.poller.Add(sockets[i], fd, o); err != nil {
			return err
		}
		o.SendSoon()
	}
	return nil
}

// guests restores the connections to the daemons of other nodes.
func (s *successor) guests() error {
	for i := range s.snapshot.Guests {
		x := &s.snapshot.Guests[i]
		if x.Node == s.c.self.Node() {
			return fmt.Errorf("a connection to the daemon of node %d was handed over, and this is that node", x.Node)
		}
		u, err := s.adopted()
		if err != nil {
			return err
		}
		s.c.guests.Resume(u, x.Node, ids.Node(x.ID), time.Duration(x.RoundTrip), x.State)
	}
	return nil
}

// wake makes sure that the connections are read, and asks for what the worker was waiting for.
func (s *successor) wake() {
	c := s.c
	c.served.Start()
	c.links.Start()
	c.guests.Start()
	var ask []*refs.Object
	c.table.Each(func(o *refs.Object) bool {
		if !o.Owned() && o.Asked() && !o.State().Ready() {
			ask = append(ask, o)
		}
		return true
	})
	for _, o := range ask {
		c.table.Ask(o, false)
	}
	c.table.CheckCopies()
}
