package nodeprocess

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/eagleray/eagleray/core/internal/link"
	"github.com/eagleray/eagleray/core/internal/relay"
)

// relay asks a head to carry a connection with another node: the one that leads if it is connected, else another one.
func (m *member) relay(ctx context.Context, node uint32, bulk bool) (net.Conn, error) {
	number := m.heads.leading()
	for _, h := range m.heads.numbers() {
		if m.links.Trouble(number) != nil {
			number = h
		}
	}
	head, err := m.links.To(number)
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
