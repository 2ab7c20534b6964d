package nodeprocess

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/eagleray/eagleray/core/internal/link"
	"github.com/eagleray/eagleray/core/internal/relay"
)

// relay asks a head to carry a connection with another node or another head: the one that leads if it is connected, else another one.
func (m *member) relay(ctx context.Context, node uint32, bulk bool) (net.Conn, error) {
	number, found := m.carrier(node)
	if !found {
		return nil, fmt.Errorf("connection with node %d: %w", node, errNoCarrier)
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

// errNoCarrier: no head is connected that could carry the connection.
var errNoCarrier = errors.New("no other head is connected that could carry it")

// carrier returns a head that is connected, and not the one that is to be reached.
func (m *member) carrier(to uint32) (number uint32, found bool) {
	leader := m.heads.leading()
	for _, h := range m.heads.numbers() {
		if h != to && m.links.Trouble(h) == nil && (!found || h == leader) {
			number, found = h, true
		}
	}
	return number, found
}

// relayed takes a connection of another node that the head carries. Who the other node is, its certificate says.
func (m *member) relayed(node uint32, s *link.Stream) {
	if err := m.links.AcceptRelayed(s); err != nil {
		m.log.Warn("a connection that the head carries was refused", "node", node, "why", err)
	}
}
