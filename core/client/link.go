package client

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/own"
	"github.com/eagleray/eagleray/core/wire"
)

// peerLink is our control connection to another process: to the owner of
// references that we hold, or to the worker of a task that we cancel. What is
// to be said to it is said in order: a reference that we let go of and got
// again must not seem let go of.
type peerLink struct {
	addr string
	peer *wire.Peer // nil while connecting
	todo []peerJob
	busy bool // a goroutine sees to todo
	// parked: todo is not to be done here any more, see move.go.
	parked bool
	err    error
	fd     int
}

// maxListed is how many references share a message.
const maxListed = 10_000

// peerJob is one of: references that we have begun to hold, references that we
// hold no longer, a function.
type peerJob struct {
	borrow, giveBack [][]byte
	do               func(*wire.Peer, error)
}

func (l *peerLink) close() {
	if l.peer != nil {
		l.peer.Close()
	}
}

// withPeer runs f with a control connection to addr, or the error; mu held on
// entry, not held in f.
func (c *Client) withPeer(addr string, f func(*wire.Peer, error)) {
	c.linkTo(addr).add(c, peerJob{do: f})
}

// linkTo returns the connection to addr, which may not be open yet; mu held.
func (c *Client) linkTo(addr string) *peerLink {
	l := c.peers[addr]
	if l == nil {
		l = &peerLink{addr: addr, busy: true}
		c.peers[addr] = l
		go c.openPeer(l)
	}
	return l
}

// last returns the newest job if it has not begun, for more of the same kind.
func (l *peerLink) last() *peerJob {
	if len(l.todo) == 0 {
		return nil
	}
	return &l.todo[len(l.todo)-1]
}

// add queues a job; mu held.
func (l *peerLink) add(c *Client, j peerJob) {
	l.todo = append(l.todo, j)
	if !l.busy && !l.parked {
		l.busy = true
		go c.serveLink(l)
	}
}

// serveLink does what is queued for a link.
func (c *Client) serveLink(l *peerLink) {
	for {
		c.mu.Lock()
		todo := l.todo
		if len(todo) == 0 || l.parked {
			l.busy = false
			c.mu.Unlock()
			return
		}
		l.todo = nil
		p, err := l.peer, l.err
		c.mu.Unlock()
		for _, j := range todo {
			switch {
			case j.do != nil:
				j.do(p, err)
			case j.borrow != nil:
				c.register(j.borrow, p, err)
			case err == nil:
				_ = p.Push(wire.TRefReturn, wire.ObjRefs{ObjectIDs: j.giveBack})
			}
		}
	}
}

func (c *Client) openPeer(l *peerLink) {
	p, err := dialControl(l.addr, wire.Hello{Version: wire.Version, Role: wire.RoleControl, OwnerID: c.self[:], Addr: c.info.Addr},
		refuseCalls, func(error) { c.peerLost(l) })
	c.mu.Lock()
	if err == nil {
		l.fd = descriptorOf(p.Conn())
		c.opened(l.fd)
	}
	l.peer, l.err = p, err
	c.mu.Unlock()
	c.serveLink(l)
	if err != nil {
		c.peerLost(l)
	}
}

// refuseCalls is the handler of connections on which only we ask.
func refuseCalls(m *wire.Message) {
	_ = m.Fail(fault.New(fault.BadRequest, "%s is not for the calling side", m.Type))
}

// peerLost: a process whose references we hold is gone.
func (c *Client) peerLost(l *peerLink) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.peers[l.addr] == l {
		delete(c.peers, l.addr)
	}
	if l.fd > 0 {
		c.closing(l.fd)
	}
	if c.closed {
		return
	}
	var lost []*own.Object
	c.callerGone(l.addr)
	c.table.EachBorrowed(func(o *own.Object) bool {
		if o.OwnerAddr == l.addr && !o.State.Ready() {
			lost = append(lost, o)
		}
		return true
	})
	for _, o := range lost {
		c.failObject(o, ownerDied(o))
	}
}

func ownerDied(o *own.Object) *fault.Error {
	return fault.New(fault.OwnerDied, "object %s is lost: the process that owned it has ended", o.ID)
}
