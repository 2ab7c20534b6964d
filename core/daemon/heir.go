package daemon

import (
	"net"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
	"github.com/eagleray/eagleray/core/workers"
)

// A worker that is to end while others need what it owns hands that over to an
// heir. Here the heir takes its place: the owner's id, its socket's path, and
// its number in the scheduler, and with that its classes and leases. What the worker
// holds stays the worker's until its process is gone.

// bequeath finds an heir for the worker at the other end.
func (d *Daemon) bequeath(u *net.UnixConn, h *wire.Hello) error {
	if d.o.Inherit == nil {
		return fault.New(fault.BadRequest, "this daemon has no heirs")
	}
	if len(h.OwnerID) != ids.OwnerSize {
		return fault.New(fault.BadRequest, "an owner's id has %d bytes, not %d", ids.OwnerSize, len(h.OwnerID))
	}
	pid, pidfd := peerProcess(u, h.Pid)
	closeFD(pidfd)
	token := workers.NewToken()
	d.mu.Lock()
	c := d.owners[ids.Owner(h.OwnerID)]
	ok := c != nil && c.worker != nil && c.pid == pid
	over := d.closing || ok && c.over()
	if c == nil { // an heir had taken its place, and ended with the job
		for _, x := range d.clients {
			over = over || x.worker != nil && x.pid == pid && x.over()
		}
	}
	if ok && !over {
		d.wills[token] = c
	}
	d.mu.Unlock()
	switch {
	case over:
		return fault.New(fault.Closed, "the job has ended, and with it what this worker owns")
	case !ok:
		return fault.New(fault.BadRequest, "process %d is not the worker that it says", pid)
	}
	if err := wire.SendHelloReply(u, wire.HelloReply{Version: wire.Version}, -1); err != nil {
		return err
	}
	go func() {
		err := d.o.Inherit(u, token)
		d.mu.Lock()
		delete(d.wills, token)
		over := d.closing || c.over()
		d.mu.Unlock()
		if err != nil && !over {
			d.log.Warn("a worker could not hand over", "pid", pid, "error", err)
		}
	}()
	return nil
}

// predecessor returns the worker that hands over with the token, once.
func (d *Daemon) predecessor(token string) (*client, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.wills[token]
	if c == nil {
		return nil, fault.New(fault.BadRequest, "no worker hands over with this token")
	}
	delete(d.wills, token)
	return c, nil
}

// inherit puts an heir in its predecessor's place.
func (d *Daemon) inherit(c *client) (*wire.Inherited, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	old := c.heirOf
	if old == nil || c.gone {
		return nil, fault.New(fault.BadRequest, "this process is nobody's heir")
	}
	if old.gone || old.over() {
		return nil, fault.New(fault.OwnerDied, "the worker, or its job, ended while it handed over")
	}
	c.heirOf = nil
	old.former = old.self.Owner()
	c.id, old.id = old.id, c.id
	c.self, old.self = old.self, c.self
	c.addr, old.addr = old.addr, c.addr
	old.worker.self = old.self
	c.inherited = old.outlives()
	for _, x := range []*client{c, old} {
		d.clients[x.id] = x
		d.owners[x.self.Owner()] = x
	}
	r := &wire.Inherited{WorkerID: c.self[:], Addr: c.addr}
	for _, id := range d.m.LeasesOf(c.id) {
		r.LeaseIDs = append(r.LeaseIDs, uint64(id))
	}
	return r, nil
}
