package daemon

import (
	"net"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// reach begins a pipe: a process of this node wants to reach one of another node.
func (d *Daemon) reach(u *net.UnixConn, h *wire.Hello) error {
	if len(h.OwnerID) != ids.OwnerSize {
		return fault.New(fault.BadRequest, "the id of a process has %d bytes, not %d", ids.OwnerSize, len(h.OwnerID))
	}
	d.pipes.Near(u, ids.Owner(h.OwnerID))
	return nil
}

// ServePipe takes over a stream that the node with the number from has opened to a process of this
// node, or to this daemon. It returns at once.
func (d *Daemon) ServePipe(stream net.Conn, from uint32, target ids.Owner) {
	d.pipes.Far(stream, from, target)
}

// pipeHost is this node as the ends of pipes see it.
type pipeHost struct{ d *Daemon }

// Socket implements pipes.Here.
func (h pipeHost) Socket(o ids.Owner) (path string, ok bool) {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	return h.d.socketOf(o), h.d.owners[o] != nil
}

// Page implements pipes.Here.
func (h pipeHost) Page(guest ids.Owner, lease uint64) (slot, page int, err error) {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	c := h.d.owners[guest]
	if c == nil {
		return 0, -1, nil
	}
	return c.begun.Open(lease)
}

// Guest implements pipes.Here.
func (h pipeHost) Guest(stream net.Conn, hello *wire.Hello) error {
	if err := h.d.welcomeGuest(stream, hello); err != nil {
		_ = wire.RefuseHello(stream, err)
		stream.Close()
		return err
	}
	return nil
}

// welcomeGuest makes a process of another node a client. Package pipes has checked whose it is.
func (d *Daemon) welcomeGuest(stream net.Conn, h *wire.Hello) error {
	if len(h.JobID) != ids.JobSize {
		return fault.New(fault.BadRequest, "the hello of a process of another node names no job: a job's id has %d bytes, not %d", ids.JobSize, len(h.JobID))
	}
	c := &client{role: wire.RoleGuest, pid: h.Pid}
	copy(c.self[:], h.OwnerID)
	c.peer = wire.NewPeer(stream, func(m *wire.Message) { d.handle(c, m) }, func(error) { go d.connectionClosed(c) })
	c.peer.Tag = c
	if err := d.enterGuest(c, ids.Job(h.JobID), h.Namespace); err != nil {
		return err
	}
	r := wire.HelloReply{Version: wire.Version, NodeID: d.o.Node[:], NodeAddr: d.o.Address, Totals: d.totals()}
	if err := wire.AnswerGuest(stream, r); err != nil {
		d.connectionClosed(c)
		return err
	}
	c.peer.Start()
	return nil
}

// enterGuest puts a guest into the tables. A process is one guest at most: if it is one already,
// it has given that connection up, and the news of that is still on its way.
func (d *Daemon) enterGuest(c *client, id ids.Job, namespace string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closing {
		return fault.New(fault.Closed, "the daemon is ending")
	}
	j := d.visiting(id, namespace)
	if j.ended {
		return fault.New(fault.Closed, "job %s has ended", id)
	}
	c.job = j
	j.guests++
	if old := d.owners[c.self.Owner()]; old != nil {
		d.dropClient(old)
	}
	d.lastClient++
	c.id = d.lastClient
	d.clients[c.id], d.owners[c.self.Owner()] = c, c
	d.event(func(m *sched.Machine) { m.AddGuest(c.id, id) })
	return nil
}

// dropGuest is dropClient for what guests have. What a guest owns stays here: the guest may live
// on, and its own daemon says when it ends; mu held.
func (d *Daemon) dropGuest(c *client) {
	delete(d.owners, c.self.Owner())
	c.begun.Close()
	d.event(func(m *sched.Machine) { m.RemoveClient(c.id) })
	c.job.guests--
	d.endVisit(c.job)
}

// guestLeased prepares a page on which the worker of a guest's lease notes the tasks that it begins; mu held.
func (d *Daemon) guestLeased(c *client, id sched.LeaseID) {
	if err := c.begun.Take(uint64(id)); err != nil {
		d.log.Warn("which tasks of a process of another node its workers have begun will not be known, and all will count as begun", "pid", c.pid, "node", c.self.Owner().Node(), "error", err)
	}
}

// dropGuests drops the guests of a job that is over; mu held.
func (d *Daemon) dropGuests(j *job) {
	for _, c := range d.clients {
		if c.job == j && c.role == wire.RoleGuest {
			d.dropClient(c)
		}
	}
}

// endVisit ends a job of another node's driver of which nothing is here any more. The job itself
// may go on, and come back with a guest; mu held.
func (d *Daemon) endVisit(j *job) {
	if j.visits && !j.ended && !d.closing && j.guests == 0 && len(j.workers) == 0 && j.registering == 0 && !j.detached && !d.awaits(j) {
		d.jobOver(j)
	}
}

// JobRuns says on which node the driver of a job is that runs.
func (d *Daemon) JobRuns(id ids.Job, node uint32) { d.logs.Runs(id, node) }

// JobEnded says that a job has ended whose driver is on another node, or has left.
func (d *Daemon) JobEnded(id ids.Job) {
	d.logs.Over(id)
	d.packages.Ended(id)
	d.mu.Lock()
	defer d.mu.Unlock()
	if j := d.jobs[id]; j != nil && (j.visits || j.left) && !j.ended && !d.closing {
		d.jobOver(j)
	}
}
