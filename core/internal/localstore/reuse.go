package localstore

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A program that puts one large object after another, and lets each go before the
// next, gets the same memory each time: its pages are mapped here and may be in the
// caches. Asking the daemon for room would take longer than writing the object. So
//
//   - what put has written stays pinned here, as if it had been looked at, but only the latest;
//   - when the last reference to that goes, and it was never given to anybody else, its range
//     stays for Times.Spare, for a put that fits: that put tells the daemon that the new
//     object takes the old one's place (Daemon.Reuse), and waits for no answer.
//
// Nobody else can have such an object pinned, and what is pinned does not move: so the
// range is ours to write. The daemon gets all of it back when it wants room.

const (
	ReuseFrom = 1 << 20 // ReuseFrom is the size in bytes from which an object's range is worth keeping.
	reuseMost = 4       // at most one of so many parts of a range may be wasted
)

// Put says that put is about to write a large value. reused: put may write at once to the
// returned place, which is the range of an object that is gone. keep: the caller must call
// Written afterwards.
func (s *Store) Put(id ids.Object, size int) (at wire.ObjPlace, reused, keep bool) {
	if size < ReuseFrom {
		return at, false, false
	}
	if at, reused = s.reuse(id, uint64(size)); !reused {
		s.unpinWritten()
	}
	return at, reused, true
}

// reuse gives a new object the spare range, if the object fits.
func (s *Store) reuse(id ids.Object, size uint64) (at wire.ObjPlace, ok bool) {
	v := s.spare.view
	if v == nil {
		return at, false
	}
	if size > v.size || v.size-size > v.size/reuseMost {
		s.DropSpare()
		return at, false
	}
	s.spare.view = nil
	s.forget(v)
	s.daemon.Reuse(v.id, id, size)
	return wire.ObjPlace{Offset: v.off, Size: size}, true
}

// Written keeps what put has just written to the arena, and sealed as pinned.
func (s *Store) Written(id ids.Object, at wire.ObjPlace, size int) {
	if s.ended != nil {
		return
	}
	v := &View{id: id, off: at.Offset, size: uint64(size)}
	s.add(v)
	s.unpinWritten()
	s.idle.written = v
	s.idleFrom(v)
}

// unpinWritten gives up what put has written before.
func (s *Store) unpinWritten() {
	if v := s.idle.written; v != nil {
		s.idle.written = nil
		if v.holds == 0 && s.mapped[v.id] == v {
			s.unpinIdle(v)
		}
	}
}

// keepRange keeps the range of an object that is gone for the next put, if it can.
func (s *Store) keepRange(o *refs.Object) bool {
	v := s.mapped[o.ID]
	if v == nil || v != s.idle.written || o.Shared() || o.State() != refs.Stored || !o.Owned() || s.ended != nil {
		return false
	}
	held := 0
	if o.Copy() == v {
		held = 1
	}
	if v.holds != held { // the program still looks at it
		return false
	}
	if held == 0 {
		s.idle.unlist(v)
	}
	o.SetCopy(nil)
	s.idle.written = nil
	v.holds = 1 // the spare range's
	s.DropSpare()
	s.spare.view = v
	if s.spare.timer == nil {
		s.spare.timer = s.clock.After(s.times.Spare, s.DropSpare)
	} else {
		s.spare.timer.Reset(s.times.Spare)
	}
	return true
}

// DropSpare gives the spare range back: no put has come for it, or somebody needs the room.
func (s *Store) DropSpare() {
	if v := s.spare.view; v != nil {
		s.spare.view = nil
		// The daemon hears first that the object is free: what is unpinned while others
		// wait for room goes to disk if somebody may want it.
		s.daemon.Free([][]byte{raw(v.id)})
		s.Unhold(v)
	}
}
