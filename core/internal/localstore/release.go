package localstore

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// How holds end, and what becomes of a view that nobody holds: it is unpinned, or it
// waits for the next task (idle.go) or for the next put (reuse.go).

// Drop takes back what Open has handed to the program, also from an earlier session.
func (s *Store) Drop(n uint64) {
	if v := s.views[n]; v != nil {
		v.inUse--
		s.Release(v)
		return
	}
	if n != 0 {
		dropOrphan(n)
	}
}

// Release ends a hold of the program or of a call. In a worker the view may stay
// for the next task when it was the last one.
func (s *Store) Release(v *View) {
	if v.holds > 1 || !s.staysIdle(v) {
		s.Unhold(v)
		return
	}
	v.holds = 0
	s.idleFrom(v)
}

// ObjectGone gives up the table's hold of an object that the table has let go of.
// Kept: the object's range waits for the next put, so the store is not to free the object yet.
func (s *Store) ObjectGone(o *refs.Object) (kept bool) {
	if s.keepRange(o) {
		return true
	}
	if v := ViewOf(o); v != nil {
		s.Unhold(v)
	}
	return false
}

// ValueFreed handles the end of a value that its owner, which may be this process, has
// freed. It gives up the idle view and the table's hold, which only wait for a later look.
// Then only current readers keep the memory.
func (s *Store) ValueFreed(id ids.Object) {
	v := s.mapped[id]
	switch {
	case v == nil:
		if p := s.pinnings[id]; p != nil { // its place is known, and its file is being opened
			p.freed = true
		}
		return
	case v == s.spare.view:
		return
	case v.holds == 0:
		s.unpinIdle(v)
		return
	}
	v.freed = true
	s.tableLetsGo(v)
}

// UnpinUnused unpins every view that neither the program nor a call looks at, because
// another process needs the room.
func (s *Store) UnpinUnused() {
	s.DropSpare()
	s.unpinAllIdle()
	for _, v := range s.mapped {
		if v.holds == 1 {
			s.tableLetsGo(v)
		}
	}
}
