package headprocess

import (
	"fmt"
	"log/slog"
	"net"

	"github.com/eagleray/eagleray/core/internal/headgroup"
	"github.com/eagleray/eagleray/core/internal/link"
	"github.com/eagleray/eagleray/core/internal/relay"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate"
)

// newRelay carries connections between nodes that are alive by the cluster's state, and of nodes with other heads.
func newRelay(to func(node uint32) (*link.Link, error), state *raftstate.Node, book *headgroup.Book, log *slog.Logger) *relay.Relay {
	open := func(node uint32, target []byte) (net.Conn, error) {
		k, err := to(node)
		if err != nil {
			return nil, err
		}
		s, err := k.Open(target)
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	return relay.New(open, func(node uint32) error {
		if book.Has(node) {
			return nil // a node that does not reach another head
		}
		return living(state, node)
	}, log)
}

// living returns nil for a node that is alive by the cluster's state, and else what it is.
func living(state *raftstate.Node, node uint32) error {
	for _, n := range state.ListNodes() {
		switch {
		case n.Number != node:
		case n.State == record.NodeDead:
			return fmt.Errorf("%w: node %d (%s)", link.ErrDead, node, n.Reason)
		default:
			return nil
		}
	}
	return fmt.Errorf("node %d is not in this cluster", node)
}
