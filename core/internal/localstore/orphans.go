package localstore

import (
	"sync"

	"github.com/eagleray/eagleray/core/internal/store"
)

// Views outlive their session: a program may go on reading arrays after it has
// left. The arena stays mapped until the last of them is let go.

// endedArena is the mapping of a session that ended with views in use.
type endedArena struct {
	arena *store.Mapping
	left  int // views that the program still has
}

var (
	orphansMu sync.Mutex
	orphans   = map[uint64]*endedArena{}     // by the view's number
	counts    = map[uint64]int{}             // how often the program has each
	files     = map[uint64]*store.FileView{} // of those that lie in a file
)

// abandon leaves the arena mapped for the views that are in use, or closes it.
func abandon(arena *store.Mapping, views map[uint64]*View) {
	o := &endedArena{arena: arena}
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

// Orphans returns how many views of ended sessions the program still has.
func Orphans() int {
	orphansMu.Lock()
	defer orphansMu.Unlock()
	return len(orphans)
}

// DropOrphan takes a view back that the program has without a session, or a loan.
func DropOrphan(n uint64) {
	if IsLoan(n) {
		EndLoan(n)
		return
	}
	dropOrphan(n)
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
