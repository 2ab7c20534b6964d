package daemon

import (
	"context"
	"net"
	"time"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// The network calls these methods for what other nodes send to the daemon.

// NodeMessage serves a message that has come from another node, in the order of its control connection.
func (d *Daemon) NodeMessage(from uint32, m *wire.Message) {
	if !d.logs.Handle(from, m) && !d.census.Handle(from, m) && !d.jobsElsewhere.Handle(m) && !d.ends.Handle(m) {
		d.pulls.Handle(from, m)
	}
}

// ServeObjects serves another node on a bulk connection that it has dialed. It returns when the connection has ended.
func (d *Daemon) ServeObjects(from uint32, c net.Conn) { d.pulls.Serve(from, c) }

// NodeConnected says that a session with another node has begun, whose messages come on this connection.
func (d *Daemon) NodeConnected(node uint32, control *wire.Peer) { d.pulls.Connected(node, control) }

// NodeGone says that another node is dead, that its daemon is another process now, or that the session with it is lost.
func (d *Daemon) NodeGone(node uint32) {
	d.logs.NodeGone(node)
	d.pulls.NodeGone(node)
}

// lastWords bounds how long the daemon waits until its drivers have read why it ends.
const lastWords = 500 * time.Millisecond

// EndBecause ends the daemon. The programs of this node hear why, and so do the processes of other nodes that have leases here.
func (d *Daemon) EndBecause(reason string) {
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	told := d.toldOfTheEnd()
	for _, p := range told {
		_ = p.Push(wire.TEnding, wire.Ending{Reason: reason})
	}
	for _, p := range told { // one that does not read takes no time from the others
		_ = p.Flush(ctx)
	}
	d.Stop()
}

func (d *Daemon) toldOfTheEnd() (list []*wire.Peer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.clients {
		if (c.role == wire.RoleDriver || c.role == wire.RoleGuest) && c.peer != nil {
			list = append(list, c.peer)
		}
	}
	return list
}
