package client

import (
	"slices"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/localstore"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/transport"
	"github.com/eagleray/eagleray/core/wire"
)

// Drop is one thing that the program let go of: a reference, a view of a mapped
// object (View != 0), an actor handle, a generator or references of a batch.
type Drop = refs.Drop

// What Drop.View says when references of a batch go.
const (
	DropSome = refs.DropSome
	DropLast = refs.DropLast
)

// takeDrops handles what the program let go of; mu held.
func (c *Client) takeDrops() {
	var list []Drop
	if c.opts.Drops != nil {
		list = c.opts.Drops()
	}
	c.table.Drop(list)
}

// Release lets one thing go.
func (c *Client) Release(d Drop) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.table.Drop([]Drop{d})
	c.takeDrops()
}

// DropsWaiting says that the program has let go of something.
func (c *Client) DropsWaiting() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.poller.Arm()
}

// carryOut has the table carry out what follows from the references that have gone; mu held.
func (c *Client) carryOut() { c.table.CarryOut() }

// unpinAll unpins each of the objects; carryOut is to follow; mu held.
func (c *Client) unpinAll(list []*refs.Object) { c.table.UnpinAll(list) }

// DropView implements refs.Effects.
func (h *host) DropView(view uint64) {
	if localstore.IsLoan(view) {
		localstore.EndLoan(view)
		return
	}
	h.local.Drop(view)
}

// DropStream implements refs.Effects.
func (h *host) DropStream(generator ids.Object) { (*Client)(h).leaveStream(generator) }

// DropCopy implements refs.Effects.
func (h *host) DropCopy(o *refs.Object) (kept bool) { return h.local.ObjectGone(o) }

// CopyLost implements refs.Effects.
func (h *host) CopyLost(id ids.Object) { h.local.ValueFreed(id) }

// Free implements refs.Effects.
func (h *host) Free(list [][]byte) {
	for part := range slices.Chunk(list, transport.MaxBatch) {
		(*Client)(h).push(wire.TObjFree, wire.ObjRefs{ObjectIDs: part})
	}
}

// SourceGone implements refs.Effects.
func (h *host) SourceGone(s refs.Source, o *refs.Object) {
	c := (*Client)(h)
	switch s := s.(type) {
	case *actor:
		c.handlesGone(s)
	case *task:
		if s.stream != nil {
			c.unwanted(s, o)
		}
	}
}

// RecipeGone implements refs.Effects.
func (h *host) RecipeGone(t refs.Task) {
	tm := taskOf(t).tmpl
	tm.recipes--
	(*Client)(h).dropTemplate(tm)
}

// Unseen implements refs.Effects.
func (h *host) Unseen(o *refs.Object) { (*Client)(h).unseen(o) }

// Released implements refs.Effects.
func (h *host) Released(release func()) { go release() } // it may wait for a device

// Needed implements refs.Effects.
func (h *host) Needed() { (*Client)(h).lessNeeded() }
