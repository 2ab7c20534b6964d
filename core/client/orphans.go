package client

import (
	"sync"
	"sync/atomic"

	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/store"
)

// Views outlive their session: a program may go on reading arrays after it has
// left. The arena stays mapped until the last of them is let go.

// viewSeq numbers the views of all sessions of the process.
var viewSeq atomic.Uint64

// orphanage is the mapping of a session that ended with views in use.
type orphanage struct {
	arena *store.Mapping
	left  int // views that the program still has
}

var (
	orphansMu sync.Mutex
	orphans   = map[uint64]*orphanage{}      // by view
	counts    = map[uint64]int{}             // how often each is held
	files     = map[uint64]*store.FileView{} // of those that lie in a file
)

// abandon leaves the arena mapped for the views that are in use, or closes it.
func abandon(arena *store.Mapping, views map[uint64]*view) {
	o := &orphanage{arena: arena}
	orphansMu.Lock()
	defer orphansMu.Unlock()
	for n, v := range views {
		if v.inUse > 0 {
			orphans[n], counts[n] = o, v.inUse
			o.left++
			if v.file != nil {
				files[n] = v.file
			}
		} else {
			v.file.Close()
		}
	}
	if o.left == 0 {
		_ = arena.Close() // nothing is read through it any more
	}
}

// DropOrphans handles what the program let go of while it has no session.
func DropOrphans(list []Drop) {
	for _, d := range list {
		switch d.View {
		case 0:
		case DropSome, DropLast:
			refs.DropOrphanBatch(d)
		default:
			if isLoan(d.View) {
				EndLoan(d.View)
				continue
			}
			dropOrphan(d.View)
		}
	}
}

func dropOrphan(n uint64) {
	orphansMu.Lock()
	defer orphansMu.Unlock()
	o := orphans[n]
	if o == nil {
		return
	}
	if counts[n]--; counts[n] > 0 {
		return
	}
	delete(orphans, n)
	delete(counts, n)
	files[n].Close()
	delete(files, n)
	if o.left--; o.left == 0 {
		_ = o.arena.Close()
	}
}
