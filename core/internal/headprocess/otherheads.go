package headprocess

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/eagleray/eagleray/core/internal/blobs"
	"github.com/eagleray/eagleray/core/internal/headgroup"
	"github.com/eagleray/eagleray/core/internal/link"
	"github.com/eagleray/eagleray/core/internal/otherheads"
	"github.com/eagleray/eagleray/core/internal/packages"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/raftstate"
)

// otherHeads are the other heads, for the packages of environments and for large values.
type otherHeads struct {
	state  atomic.Pointer[raftstate.Node] // nil until it is open
	book   *headgroup.Book
	number uint32 // of this head
	bulk   func(ctx context.Context, number uint32) (net.Conn, error)
}

// Heads implements otherheads.Others.
func (o *otherHeads) Heads() (list []otherheads.Head, votes bool) {
	voters := map[string]bool{}
	if state := o.state.Load(); state != nil {
		for _, m := range state.Members() {
			voters[m.ID] = m.Voter
		}
	}
	all, _ := o.book.List()
	for _, h := range all {
		if h.Number == o.number {
			votes = voters[h.ID]
			continue
		}
		list = append(list, otherheads.Head{Number: h.Number, Voter: voters[h.ID]})
	}
	return list, votes
}

// Majority implements otherheads.Others.
func (o *otherHeads) Majority() int {
	if state := o.state.Load(); state != nil {
		return state.Voters()/2 + 1
	}
	return 1
}

// Has implements otherheads.Others.
func (o *otherHeads) Has(number uint32) bool { return number != o.number && o.book.Has(number) }

// Changed implements otherheads.Others.
func (o *otherHeads) Changed() <-chan struct{} {
	_, changed := o.book.List()
	return changed
}

// Dial implements otherheads.Others.
func (o *otherHeads) Dial(ctx context.Context, number uint32) (net.Conn, error) {
	return o.bulk(ctx, number)
}

// valueHeads are the other heads for large values, which have connections of their own.
type valueHeads struct {
	*otherHeads
	values func(ctx context.Context, number uint32) (net.Conn, error)
}

// The places for them are as many as package blobs uses.
var _ [link.ValueConns - blobs.TalksAtOnce]struct{}

// Dial implements otherheads.Others.
func (o valueHeads) Dial(ctx context.Context, number uint32) (net.Conn, error) {
	return o.values(ctx, number)
}

// askedWithin is how long a bulk connection may take to say what it is for.
const askedWithin = 20 * time.Second

// serveBulk answers a question on a bulk connection. Its first bytes say whether it is about a large value or about a package.
func serveBulk(from uint32, c net.Conn, values *blobs.Store, depot *packages.Depot) {
	begun := &begunConn{Conn: c, first: make([]byte, len(blobs.Magic))}
	if c.SetReadDeadline(time.Now().Add(askedWithin)) != nil {
		return
	}
	if _, err := io.ReadFull(c, begun.first); err != nil {
		return
	}
	if [len(blobs.Magic)]byte(begun.first) == blobs.Magic {
		values.Serve(from, begun)
		return
	}
	depot.Serve(from, begun)
}

// begunConn is a connection whose first bytes have been read. They are read again.
type begunConn struct {
	net.Conn
	first []byte
}

func (c *begunConn) Read(b []byte) (int, error) {
	if len(c.first) == 0 {
		return c.Conn.Read(b)
	}
	n := copy(b, c.first)
	c.first = c.first[n:]
	return n, nil
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

// values dials a head for a large value.
func (o *otherLinks) values(ctx context.Context, number uint32) (net.Conn, error) {
	k, err := (*o.links).To(number)
	if err != nil {
		return nil, err
	}
	return k.Values(ctx)
}

// bulk dials a head for much data.
func (o *otherLinks) bulk(ctx context.Context, number uint32) (net.Conn, error) {
	k, err := (*o.links).To(number)
	if err != nil {
		return nil, err
	}
	return k.Bulk(ctx)
}
