package daemon

import (
	"github.com/eagleray/eagleray/core/internal/overflow"
	"github.com/eagleray/eagleray/core/internal/place"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Cluster is what the daemon tells the head about leases. *headlink.Client has these methods.
type Cluster = overflow.Cluster

// LeaseOffered takes an offer of the head: another node has room for leases of a class.
func (d *Daemon) LeaseOffered(o place.Offer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.event(func(m *sched.Machine) {
		if uint32(o.Node) == d.o.Number {
			m.OfferedHere(sched.ClientID(o.To.Client), sched.ClassID(o.To.Class), o.N, uint64(o.Ticket))
			return
		}
		take := m.Offered(sched.ClientID(o.To.Client), sched.ClassID(o.To.Class), o.N)
		c := d.clients[sched.ClientID(o.To.Client)]
		if take == 0 || c == nil {
			d.overflow.Unused(uint64(o.Ticket))
			return
		}
		_ = c.peer.Push(wire.TLeaseOffer, wire.LeaseOffer{ClassID: o.To.Class, Node: uint32(o.Node), N: take, Choice: o.Choice, Ticket: uint64(o.Ticket), Recall: o.Recall,
			Env: c.envToDefine(m.EnvOf(c.id, sched.ClassID(o.To.Class))), Lasting: c.outlives()})
	})
}

// envToDefine returns an environment of the process's job that the process has not heard of yet, nil if it has; mu held.
func (c *client) envToDefine(key string) *wire.EnvSpec {
	if c.job == nil || c.envs[key] || c.job.Env(key) == nil {
		return nil
	}
	if c.envs == nil {
		c.envs = make(map[string]bool)
	}
	c.envs[key] = true
	return c.job.Env(key)
}

// WantInfeasible takes the head's word that no node can ever give what a class needs.
func (d *Daemon) WantInfeasible(i place.Infeasible) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.event(func(m *sched.Machine) {
		m.Infeasible(sched.ClientID(i.To.Client), sched.ClassID(i.To.Class), i.Message, i.Busy)
	})
}

// Company says whether other nodes are alive.
func (d *Daemon) Company(others bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.event(func(m *sched.Machine) { m.SetCompany(others) })
}

// Drain says that this node leaves the cluster: nothing new begins here.
func (d *Daemon) Drain() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.event((*sched.Machine).Drain)
}

// Idle reports whether nothing runs here: no program, task or actor, and nobody has objects here.
func (d *Daemon) Idle() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.clients {
		if c.role == wire.RoleDriver || c.role == wire.RoleService && c.job != nil || c.role == wire.RoleSuccessor {
			return false
		}
	}
	return d.m.IsIdle() && d.objects.Stats().Objects == 0
}

// offerUnused serves TLeaseRefused: a process of this node does not use an offer.
func (d *Daemon) offerUnused(_ *client, m *wire.Message) error {
	var q wire.LeaseRefused
	if err := m.Decode(&q); err != nil {
		return err
	}
	d.locked(func() { d.overflow.Unused(q.Ticket) })
	return nil
}

// tellStock tells the head what this node has free, if that has changed. It waits until the memory of the GPUs is
// known, because the head calls what no node has infeasible; mu held.
func (d *Daemon) tellStock() {
	select {
	case <-d.memoryKnown:
		d.overflow.Stock(d.m)
	default:
	}
}
