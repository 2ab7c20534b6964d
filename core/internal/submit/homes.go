package submit

import (
	"maps"
	"slices"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/leases"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Leases may come from other nodes: the own daemon offers them, and this process asks the other node's daemon
// as its guest. Package leases counts them. A task at another node's worker goes as at any worker.

// LeaseOffered takes an offer of the own daemon: another node has room for leases of a class.
func (c *Submitter) LeaseOffered(o *wire.LeaseOffer) {
	if k := c.Offered(o); k != nil {
		c.AdjustWant(k)
	}
}

// LeaseGrantedAt takes a lease that another node's daemon grants, and has its worker's socket opened.
func (c *Submitter) LeaseGrantedAt(node uint32, g *wire.LeaseGrant) {
	if l := c.GrantedAt(node, g); l != nil {
		c.openLease(l, g, -1)
	}
}

// LeaseRefused notes that another node's daemon grants less than it was asked for. The own daemon is asked instead.
func (c *Submitter) LeaseRefused(node uint32, r *wire.LeaseRefused) {
	if k := c.Refused(node, r); k != nil {
		c.AdjustWant(k)
	}
}

// ClassTroubleAt notes that no worker can be had for a class at another node. A node that is too small is asked no
// more, and whether there is a larger one is for the own daemon to say. An environment that cannot be made there
// fails the queued tasks, as it does here.
func (c *Submitter) ClassTroubleAt(node, id uint32, f *fault.Error) {
	k := c.Classes[id]
	if k == nil {
		return
	}
	c.UnaskAt(k, node)
	if f.Code != fault.TaskUnschedulable {
		c.failQueue(k, f)
	}
	c.AdjustWant(k)
}

// HomeLost notes that another node can be asked for nothing any more, and why: it is dead, or this process cannot
// be its guest. Its leases have ended. The own daemon is asked for what the node was asked for.
func (c *Submitter) HomeLost(node uint32, why error) {
	classes, lost := c.LoseHome(node)
	for _, l := range lost { // first none of them gets another task; those that have none end here
		c.LeaseRecalled(l.ID)
	}
	for _, l := range lost {
		if l.Broken { // its daemon has said more
			continue
		}
		l.NodeLost = true
		c.LeaseBroken(&wire.LeaseBroken{LeaseID: l.ID, Detail: why.Error()})
	}
	for _, k := range classes {
		c.AdjustWant(k)
	}
	for _, tm := range c.Nears(node) {
		c.RetireTemplate(tm)
	}
}

// ReturnElsewhere gives back the leases of other nodes that a snapshot does not have, because they have no task. The
// process ends, and has written its snapshot. The own daemon lists to the successor what this process had of it.
func (c *Submitter) ReturnElsewhere() {
	for _, id := range slices.Sorted(maps.Keys(c.Leases)) {
		l := c.Leases[id]
		if l.Node != 0 && l.Lost == nil && (l.Channel == nil || l.Channel.sent.Len() == 0) {
			c.fx.Push(wire.TLeaseReturn, wire.LeaseReturn{LeaseID: id})
		}
	}
}

// away returns the number of the node that has granted a lease, 0 for the own node.
func (c *Submitter) away(lease uint64) uint32 {
	if node := leases.NodeOf(lease); node != c.Self.Node() {
		return node
	}
	return 0
}
