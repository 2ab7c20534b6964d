package nodeprocess

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/eagleray/eagleray/core/internal/link"
	"github.com/eagleray/eagleray/core/internal/process"
	"github.com/eagleray/eagleray/core/internal/relay"
)

// relay asks the head to carry a connection with another node.
func (m *member) relay(ctx context.Context, node uint32, bulk bool) (net.Conn, error) {
	head, err := m.links.To(process.HeadNumber)
	if err != nil {
		return nil, err
	}
	s, err := head.Open(relay.Target(node, bulk))
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { s.SetReadDeadline(time.Unix(1, 0)) })
	err = relay.Answer(s)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("connection with node %d: %w", node, err)
	}
	return s, nil
}

// relayed takes a connection of another node that the head carries. Who the other node is, its certificate says.
func (m *member) relayed(node uint32, s *link.Stream) {
	if err := m.links.AcceptRelayed(s); err != nil {
		m.log.Warn("a connection that the head carries was refused", "node", node, "why", err)
	}
}
