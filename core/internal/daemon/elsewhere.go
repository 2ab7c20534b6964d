package daemon

import (
	"net"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// The network calls these methods for what other nodes send about objects.

// ObjectMessage serves a message about objects that has come from another node, in the order of its control connection.
func (d *Daemon) ObjectMessage(from uint32, m *wire.Message) { d.pulls.Handle(from, m) }

// ServeObjects serves another node on a bulk connection that it has dialed. It returns when the connection has ended.
func (d *Daemon) ServeObjects(from uint32, c net.Conn) { d.pulls.Serve(from, c) }

// NodeGone says that another node is dead, or that its daemon is another process now.
func (d *Daemon) NodeGone(node uint32) { d.pulls.NodeGone(node) }
