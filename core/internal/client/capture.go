package client

import (
	"bytes"
	"slices"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/guests"
	"github.com/eagleray/eagleray/core/internal/handover"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/transport"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// capture is the state of writing a snapshot of this process.
type capture struct {
	c        *Client
	snapshot handover.Snapshot
	fds      []int // of the connections, in the order of the snapshot
}

// served writes down the connections that borrowers have opened.
func (v *capture) served(list []transport.DetachedPeer) {
	for _, x := range list {
		v.snapshot.Served = append(v.snapshot.Served, handover.Served{Owner: bytes.Clone(x.Who[:]), State: x.State})
		v.fds = append(v.fds, transport.Descriptor(x.Peer.Conn()))
	}
}

// links writes down the connections to owners.
func (v *capture) links(list []transport.Detached) {
	again := v.c.table.Unregistered() > 0
	for _, l := range list {
		v.snapshot.Links = append(v.snapshot.Links, handover.Link{Addr: l.Addr, State: l.State, GiveBack: l.Unsent[wire.TRefReturn], Again: again})
		v.fds = append(v.fds, transport.Descriptor(l.Conn))
	}
}

// guests writes down the connections to the daemons of other nodes.
func (v *capture) guests(list []guests.Detached) {
	for _, g := range list {
		v.snapshot.Guests = append(v.snapshot.Guests, handover.Guest{Node: g.Node, ID: bytes.Clone(g.ID[:]), RoundTrip: uint64(g.RoundTrip), State: g.State})
		v.fds = append(v.fds, transport.Descriptor(g.Conn))
	}
}

// references writes down what the reference table knows, and which questions of
// borrowers wait on the connections that were served.
func (v *capture) references(list []transport.DetachedPeer) {
	s := &v.snapshot
	s.Refs = *v.c.table.Snapshot(&v.c.sites)
	serves := map[ids.Owner]bool{}
	asks := map[*wire.Peer]*handover.Served{}
	for i, x := range list {
		serves[x.Who] = true
		asks[x.Peer] = &s.Served[i]
	}
	for i := range s.Refs.Objects { // the table is being told that a borrower without a connection has ended
		x := &s.Refs.Objects[i]
		x.HeldBy = slices.DeleteFunc(x.HeldBy, func(p []byte) bool { return !serves[ids.Owner(p)] })
	}
	v.c.table.Each(func(o *refs.Object) bool {
		for _, m := range slices.Concat(o.Questions(), o.PatientQuestions()) {
			if x := asks[m.Peer()]; x != nil {
				x.Questions = append(x.Questions, handover.Question{Object: o.ID.Raw(), ID: m.ID})
			}
		}
		return true
	})
}

// tasks writes down the submitting half, and what waits in the sockets of its channels.
func (v *capture) tasks() {
	s, channels := v.c.submit.Snapshot()
	v.snapshot.Submit = *s
	for _, o := range channels {
		v.snapshot.Sockets = append(v.snapshot.Sockets, handover.Socket{Unread: socketOf(o).Unread(), Unsent: o.Buffer()})
		v.fds = append(v.fds, o.FD())
	}
}
