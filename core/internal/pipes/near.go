package pipes

import (
	"fmt"
	"net"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// near runs the end of a pipe at which the caller is.
func (p *Pipes) near(e *end, u *net.UnixConn, target ids.Owner) error {
	h, stream, err := p.open(e, u, target)
	if err != nil {
		if target.IsDaemon() { // the process waits for the answer to its hello
			_ = wire.RefuseHello(u, err)
		}
		return err
	}
	e.hold(stream)
	c, err := e.takes(u)
	if err != nil {
		return nil // this end was closed
	}
	r := relay{process: c, stream: stream, linger: p.lingers(h), stop: p.ctx.Done()}
	r.run()
	return nil
}

// open reads the caller's hello, opens a stream and sends the hello on.
func (p *Pipes) open(e *end, u *net.UnixConn, target ids.Owner) (*wire.Hello, net.Conn, error) {
	h, err := wire.ReadHello(u)
	if err != nil {
		return nil, nil, fmt.Errorf("pipe to %s: the caller's hello: %w", target, err)
	}
	if err := check(h, p.o.Node, target); err != nil {
		return nil, nil, err
	}
	switch {
	case target.Node() == p.o.Node:
		return nil, nil, fault.New(fault.BadRequest, "pipe to %s: that process is on this node, whose number is %d, and is reached at its own socket", target, p.o.Node)
	case p.o.Network == nil:
		return nil, nil, fault.New(fault.BadRequest, "pipe to %s: the process is on node %d, and this node, whose number is %d, is not connected to any other", target, target.Node(), p.o.Node)
	}
	if p.o.Talks != nil {
		if err := p.o.Talks(target.Node()); err != nil {
			return nil, nil, fmt.Errorf("pipe to %s: %w", target, err)
		}
	}
	b, err := wire.AppendMessage(nil, wire.Request, wire.THello, 1, 0, h)
	if err != nil {
		return nil, nil, fmt.Errorf("pipe to %s: %w", target, err)
	}
	p.belongs(e, ids.Owner(h.OwnerID))
	stream, err := p.o.Network.Open(p.ctx, target)
	if err != nil {
		return nil, nil, fmt.Errorf("pipe to %s: open a stream to node %d: %w", target, target.Node(), err)
	}
	if _, err := stream.Write(b); err != nil {
		stream.Close()
		return nil, nil, fmt.Errorf("pipe to %s: send the hello to node %d: %w", target, target.Node(), err)
	}
	return h, stream, nil
}

// check returns an error unless a process of the node may say this hello to the target.
func check(h *wire.Hello, node uint32, target ids.Owner) error {
	if h.Version != wire.Version {
		return fault.New(fault.VersionMismatch, "pipe to %s: the caller speaks protocol version %d, this node version %d: the processes of one node must come from one installation, and only nodes whose processes speak the same version open pipes to each other", target, h.Version, wire.Version)
	}
	if len(h.OwnerID) != ids.OwnerSize {
		return fault.New(fault.BadRequest, "pipe to %s: the caller's id has %d bytes, not %d", target, len(h.OwnerID), ids.OwnerSize)
	}
	if o := ids.Owner(h.OwnerID); o.Node() != node || o.IsDaemon() {
		return fault.New(fault.BadRequest, "pipe to %s: the caller says that it is %s, which is no process of node %d", target, o, node)
	}
	fits := h.Role == wire.RoleLease || h.Role == wire.RoleActor || h.Role == wire.RoleControl
	if target.IsDaemon() {
		fits = h.Role == wire.RoleGuest
	}
	if !fits {
		return fault.New(fault.BadRequest, "pipe to %s: a hello with the role %.40q does not belong there", target, h.Role)
	}
	return nil
}
