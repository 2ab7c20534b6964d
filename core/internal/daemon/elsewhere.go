package daemon

import (
	"net"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// The network calls these methods for what other nodes send to the daemon.

// NodeMessage serves a message that has come from another node, in the order of its control connection.
func (d *Daemon) NodeMessage(from uint32, m *wire.Message) {
	if !d.logs.Handle(from, m) && !d.jobsElsewhere.Handle(m) {
		d.pulls.Handle(from, m)
	}
}

// ServeObjects serves another node on a bulk connection that it has dialed. It returns when the connection has ended.
func (d *Daemon) ServeObjects(from uint32, c net.Conn) { d.pulls.Serve(from, c) }

// NodeGone says that another node is dead, or that its daemon is another process now.
func (d *Daemon) NodeGone(node uint32) {
	d.logs.NodeGone(node)
	d.pulls.NodeGone(node)
}
