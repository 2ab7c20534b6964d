package client

import (
	"slices"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/localstore"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/transport"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// What the release of references has the session do. The mutex is held.

// DropView implements refs.Effects.
func (h *host) DropView(view uint64) {
	if localstore.IsLoan(view) {
		localstore.EndLoan(view)
		return
	}
	h.local.Drop(view)
}

// DropStream implements refs.Effects.
func (h *host) DropStream(generator ids.Object) { (*Client)(h).submit.LeaveStream(generator) }

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
func (h *host) SourceGone(s refs.Source, o *refs.Object) { h.submit.SourceGone(s, o) }

// RecipeGone implements refs.Effects.
func (h *host) RecipeGone(t refs.Task) { h.submit.RecipeGone(t) }

// Released implements refs.Effects.
func (h *host) Released(release func()) { go release() } // it may wait for a device

// Needed implements refs.Effects.
func (h *host) Needed() { (*Client)(h).lessNeeded() }
