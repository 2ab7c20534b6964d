package headprocess

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/eagleray/eagleray/core/internal/blobs"
	"github.com/eagleray/eagleray/core/internal/headgroup"
	"github.com/eagleray/eagleray/core/internal/link"
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

// Heads implements packages.Others.
func (o *otherHeads) Heads() (list []packages.Other, votes bool) {
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

// valueHeads are the other heads, for large values.
type valueHeads struct{ *otherHeads }

// Heads implements blobs.Others.
func (o valueHeads) Heads() (list []blobs.Head, votes bool) {
	all, votes := o.otherHeads.Heads()
	for _, h := range all {
		list = append(list, blobs.Head{Number: h.Number, Voter: h.Voter})
	}
	known := 0
	for _, h := range list {
		if h.Voter {
			known++
		}
	}
	if votes {
		known++
	}
	for range o.voters() - known { // of whom the book does not know where they are: they count for the majority, and cannot be reached
		list = append(list, blobs.Head{Voter: true})
	}
	return list, votes
}

// Dial implements blobs.Others.
func (o valueHeads) Dial(ctx context.Context, number uint32) (net.Conn, error) {
	if number == 0 {
		return nil, errUnknownPlace
	}
	return o.otherHeads.Dial(ctx, number)
}

var errUnknownPlace = errors.New("nobody knows where this head is")

// voters returns how many heads have a vote.
func (o *otherHeads) voters() int {
	if state := o.state.Load(); state != nil {
		return state.Voters()
	}
	return 0
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

// bulk dials a head for much data.
func (o *otherLinks) bulk(ctx context.Context, number uint32) (net.Conn, error) {
	k, err := (*o.links).To(number)
	if err != nil {
		return nil, err
	}
	return k.Bulk(ctx)
}
