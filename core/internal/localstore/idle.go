package localstore

import "github.com/eagleray/eagleray/core/ids"

// A worker's next task often takes what the last one took. So what a task has looked
// at stays pinned when nobody looks at it any more, as long as nobody needs the room:
// the next task then finds it without a word to the daemon. It is unpinned
//
//   - when it has not been looked at for Times.Idle, or idleMost others have been looked at since,
//   - at once when its owner has freed it, of which the daemon tells (ValueFreed),
//   - at once when the daemon wants room (UnpinUnused).
//
// A process's own objects, and what its references hold, are not among them: those
// the table has. Files are not either: a spilled object is better brought back.

const idleMost = 256 // views at a time

// staysIdle reports whether a view may stay without a holder for the next task.
func (s *Store) staysIdle(v *View) bool {
	return s.keepsIdle && !v.freed && v.file == nil && s.ended == nil && s.mapped[v.id] == v && !s.owns(v.id)
}

func (s *Store) owns(id ids.Object) bool { return id.Owner() == s.self }

// idleFrom lists a view that nobody holds.
func (s *Store) idleFrom(v *View) {
	l := &s.idle
	v.since = s.clock.Now()
	if v.older = l.last; v.older != nil {
		v.older.newer = v
	} else {
		l.first = v
	}
	l.last = v
	if l.n++; l.n > idleMost {
		s.unpinIdle(l.first)
	}
	if l.n == 1 {
		if l.timer == nil {
			l.timer = s.clock.After(s.times.Idle, s.unpinLongIdle)
		} else {
			l.timer.Reset(s.times.Idle)
		}
	}
}

// unlist takes a view out of the list: it is held again, or goes.
func (l *idleViews) unlist(v *View) {
	if v.older != nil {
		v.older.newer = v.newer
	} else {
		l.first = v.newer
	}
	if v.newer != nil {
		v.newer.older = v.older
	} else {
		l.last = v.older
	}
	v.older, v.newer = nil, nil
	l.n--
}

// unpinIdle gives an idle view up.
func (s *Store) unpinIdle(v *View) {
	s.idle.unlist(v)
	if v == s.idle.written {
		s.idle.written = nil
	}
	s.unpin(v)
}

// unpinAllIdle gives all idle views up: somebody needs the room.
func (s *Store) unpinAllIdle() {
	for s.idle.first != nil {
		s.unpinIdle(s.idle.first)
	}
}

// unpinLongIdle is run by the timer: views that have been idle for long go.
func (s *Store) unpinLongIdle() {
	now := s.clock.Now()
	for v := s.idle.first; v != nil && now.Sub(v.since) >= s.times.Idle; v = s.idle.first {
		s.unpinIdle(v)
	}
	if v := s.idle.first; v != nil {
		s.idle.timer.Reset(s.times.Idle - now.Sub(v.since))
	}
}
