package daemon

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// This file has what a daemon does about nodes of another release. They are there while a cluster is upgraded. Daemons talk to all nodes, and processes only to
// those of nodes whose processes speak the same version of package wire.

// talksWith returns why processes of this node do not talk to those of another one, nil if they do.
func (d *Daemon) talksWith(node uint32) error {
	if node == d.o.Number || d.o.NodeOf == nil {
		return nil
	}
	n, known := d.o.NodeOf(node)
	if !known || n.State == record.NodeDead || n.Wire == 0 || n.Wire == wire.Version {
		return nil
	}
	return fault.New(fault.VersionMismatch, "node %s (%s) is of another release of Eagle Ray: its processes speak version %d and those of this node version %d, so they do not talk to each other. "+
		"While a cluster is upgraded, run the program on a node of that release, or wait until the upgrade is over", n.ID, n.Address, n.Wire, wire.Version)
}

// mayCall returns why processes of this node cannot call an actor, nil if they can.
func (d *Daemon) mayCall(r *record.Resolution) error {
	o, err := wire.ParseAddress(r.Actor.Address)
	if r.State != record.ActorAlive || err != nil {
		return nil
	}
	return d.talksWith(o.Node())
}

// otherReleases is added to the reason why something waits.
func (d *Daemon) otherReleases() string {
	if d.o.OtherReleases == nil {
		return ""
	}
	if text := d.o.OtherReleases(); text != "" {
		return "; " + text
	}
	return ""
}
