package headprocess

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eagleray/eagleray/core/internal/headgroup"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/process"
	"github.com/eagleray/eagleray/raftstate"
)

// lookUpLimit is how long a head that has just been met waits until this head's state shows all that was committed.
const lookUpLimit = 2 * time.Second

// ranks says which members are heads to this head: those in the book. A head that has joined a moment ago may be in the state of the cluster, and in the book not yet:
// then the state is looked at again, as it is at the leading head.
//
// While this head knows no leader it cannot look. All other heads may have been replaced while it was off, so it takes a head by its certificate then, if the number is
// not that of a node that it knows. Such a number has the rights of a head, and those of a node no more.
type ranks struct {
	book  *headgroup.Book
	state *atomic.Pointer[raftstate.Node] // nil until it is open: nobody is let in before

	mu    sync.Mutex
	taken []uint32 // heads that are not in the book
}

// fits is for link.Config.Fits.
func (r *ranks) fits(peer pki.Identity) error {
	if peer.Role == pki.RoleHead && !r.book.Has(peer.Number) {
		r.lookUp(peer.Number)
	}
	return process.Fits(pki.RoleHead, r.isHead)(peer)
}

// isHead reports whether this head takes a member for a head.
func (r *ranks) isHead(number uint32) bool {
	if r.book.Has(number) {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.taken, number)
}

// lookUp decides whether a number that is not in the book is a head's.
func (r *ranks) lookUp(number uint32) {
	is := r.isInState(number)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken = slices.DeleteFunc(r.taken, func(n uint32) bool { return n == number || r.book.Has(n) })
	if is && len(r.taken) < linkmsg.MaxHeads {
		r.taken = append(r.taken, number)
	}
}

func (r *ranks) isInState(number uint32) bool {
	state := r.state.Load()
	if state == nil {
		return false
	}
	led := state.Leader() != ""
	if led {
		ctx, cancel := context.WithTimeout(context.Background(), lookUpLimit)
		defer cancel()
		if state.Fresh(ctx) != nil {
			return false // it dials again
		}
	}
	for _, e := range headgroup.Entries(state) {
		if e.Number == number {
			return true
		}
	}
	for _, n := range state.ListNodes() {
		if n.Number == number {
			return false
		}
	}
	return !led
}
