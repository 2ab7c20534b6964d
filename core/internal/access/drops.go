package access

import (
	"github.com/eagleray/eagleray/core/internal/localstore"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// Drop is one thing that the program has dropped: a reference, a view of a mapped
// object (View != 0), an actor handle, a generator or references of a batch.
type Drop = refs.Drop

// TakeDrops handles what the program has dropped. The mutex is held.
func (a *Objects) TakeDrops() {
	var list []Drop
	if a.drops != nil {
		list = a.drops()
	}
	a.table.Drop(list)
}

// Release handles one drop of the program.
func (a *Objects) Release(d Drop) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.table.Drop([]Drop{d})
	a.TakeDrops()
}

// DropsWaiting notes that the program has dropped something.
func (a *Objects) DropsWaiting() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.poller.Arm()
}

// DropOrphans handles what the program drops while it has no session.
func DropOrphans(list []Drop) {
	for _, d := range list {
		switch d.View {
		case 0:
		case refs.DropSome, refs.DropLast:
			refs.DropOrphanBatch(d)
		default:
			localstore.DropOrphan(d.View)
		}
	}
}
