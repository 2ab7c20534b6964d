package daemon

import (
	"net"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/internal/workers"
)

// A worker that is to end while others need what it owns hands that over to a
// successor, which is a client of this daemon in the daemon's own process. Here the
// successor takes the worker's place: the owner's id, with it the address and the socket, and its
// number in the scheduler, with which come its classes and leases. What the worker
// holds (its devices, its pins) stays with the worker until its process is gone.

// handOver starts a successor for the worker at the other end of the connection.
func (d *Daemon) handOver(u *net.UnixConn, h *wire.Hello) error {
	if d.o.Succeed == nil {
		return fault.New(fault.BadRequest, "this daemon starts no successors")
	}
	if len(h.OwnerID) != ids.OwnerSize {
		return fault.New(fault.BadRequest, "an owner's id has %d bytes, not %d", ids.OwnerSize, len(h.OwnerID))
	}
	pid := workers.PeerPid(u, h.Pid)
	c, token, err := d.beginHandover(ids.Owner(h.OwnerID), pid)
	if err != nil {
		return err
	}
	if err := wire.SendHelloReply(u, wire.HelloReply{Version: wire.Version}, -1); err != nil {
		d.endHandover(c, token)
		return err
	}
	go func() {
		err := d.o.Succeed(u, token)
		if over := d.endHandover(c, token); err != nil && !over {
			d.log.Warn("a worker could not hand over", "pid", pid, "error", err)
		}
	}()
	return nil
}

// beginHandover notes that the worker which owns what the id names hands over. It returns
// the worker, and the token with which its successor names itself.
func (d *Daemon) beginHandover(owner ids.Owner, pid int) (c *client, token string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c = d.owners[owner]
	ok := c != nil && c.worker != nil && c.pid == pid
	over := d.closing || ok && c.over()
	if c == nil { // a successor had taken its place, and ended with the job
		for _, x := range d.clients {
			over = over || x.worker != nil && x.pid == pid && x.over()
		}
	}
	switch {
	case over:
		return nil, "", fault.New(fault.Closed, "the job has ended, and with it what this worker owns")
	case !ok:
		return nil, "", fault.New(fault.BadRequest, "process %d is not the worker that it says", pid)
	}
	token = workers.NewToken()
	d.handovers[token] = c
	return c, token, nil
}

// endHandover forgets the token of a worker that hands over. It reports whether nobody needs
// any more what the worker owned.
func (d *Daemon) endHandover(c *client, token string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.handovers, token)
	return d.closing || c.over()
}

// predecessorOf returns the worker that hands over with the token. A token serves once.
func (d *Daemon) predecessorOf(token string) (*client, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.handovers[token]
	if c == nil {
		return nil, fault.New(fault.BadRequest, "no worker hands over with this token")
	}
	delete(d.handovers, token)
	return c, nil
}

// answerTakeOver serves TTakeOver.
func (d *Daemon) answerTakeOver(c *client, m *wire.Message) error {
	reply, err := d.takeOver(c)
	if err != nil {
		return err
	}
	return m.Reply(reply)
}

// takeOver puts a successor in the place of its predecessor.
func (d *Daemon) takeOver(c *client) (*wire.TakenOver, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	old := c.predecessor
	if old == nil || c.gone {
		return nil, fault.New(fault.BadRequest, "this connection has no pending takeover")
	}
	if old.gone || old.over() {
		return nil, fault.New(fault.OwnerDied, "the worker, or its job, ended while it handed over")
	}
	c.predecessor = nil
	old.formerOwner = old.self.Owner()
	c.id, old.id = old.id, c.id
	c.self, old.self = old.self, c.self
	c.creates, old.creates = old.creates, c.creates
	old.worker.self = old.self
	c.outlivesDriver = old.outlives()
	for _, x := range []*client{c, old} {
		d.clients[x.id] = x
		d.owners[x.self.Owner()] = x
	}
	r := &wire.TakenOver{WorkerID: c.self[:], Socket: d.socketOf(c.self.Owner())}
	for _, id := range d.m.LeasesOf(c.id) {
		r.LeaseIDs = append(r.LeaseIDs, uint64(id))
	}
	return r, nil
}
