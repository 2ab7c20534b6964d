package headprocess

import (
	"context"
	"net"

	"github.com/eagleray/eagleray/core/internal/headgroup"
	"github.com/eagleray/eagleray/core/internal/link"
	"github.com/eagleray/eagleray/core/internal/packages"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/raftstate"
)

// otherHeads are the other heads, for the packages of environments.
type otherHeads struct {
	state  *raftstate.Node
	book   *headgroup.Book
	number uint32 // of this head
	bulk   func(ctx context.Context, number uint32) (net.Conn, error)
}

// Heads implements packages.Others.
func (o *otherHeads) Heads() (list []packages.Other, votes bool) {
	voters := map[string]bool{}
	for _, m := range o.state.Members() {
		voters[m.ID] = m.Voter
	}
	all, _ := o.book.List()
	for _, h := range all {
		if h.Number == o.number {
			votes = voters[h.ID]
			continue
		}
		list = append(list, packages.Other{Number: h.Number, Voter: voters[h.ID]})
	}
	return list, votes
}

// Has implements packages.Others.
func (o *otherHeads) Has(number uint32) bool { return number != o.number && o.book.Has(number) }

// Changed implements packages.Others.
func (o *otherHeads) Changed() <-chan struct{} {
	_, changed := o.book.List()
	return changed
}

// Dial implements packages.Others.
func (o *otherHeads) Dial(ctx context.Context, number uint32) (net.Conn, error) {
	return o.bulk(ctx, number)
}

// otherLinks are the ways to other heads. The links are opened later than what uses them.
type otherLinks struct{ links **link.Links }

// control returns the control stream with a head.
func (o *otherLinks) control(number uint32) (*wire.Peer, error) {
	k, err := (*o.links).To(number)
	if err != nil {
		return nil, err
	}
	return k.Control()
}

// raft dials a head for the replicated state.
func (o *otherLinks) raft(ctx context.Context, number uint32) (net.Conn, error) {
	k, err := (*o.links).To(number)
	if err != nil {
		return nil, err
	}
	return k.Raft(ctx)
}

// bulk dials a head for much data.
func (o *otherLinks) bulk(ctx context.Context, number uint32) (net.Conn, error) {
	k, err := (*o.links).To(number)
	if err != nil {
		return nil, err
	}
	return k.Bulk(ctx)
}
