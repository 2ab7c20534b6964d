package objects

import "errors"

// diskChecks is how many questions may look at disks at a time. A disk that hangs
// holds up the questions that look at it; the table answers the others.
const diskChecks = 4

var errFileGone = errors.New("its copy on disk is gone")

// Check answers which of the objects the store does not have. It looks for the
// files of objects that are only on disk, so that a file that somebody has deleted
// is noticed before a reader needs it. Answer is called exactly once, under the
// lock.
func (s *Store) Check(list [][]byte, answer func(missing [][]byte)) {
	away := s.onlyOnDisk(list)
	if len(away) == 0 {
		answer(s.Missing(list))
		return
	}
	if s.checks.Add(1) > diskChecks {
		s.checks.Add(-1)
		answer(s.Missing(list))
		return
	}
	go func() {
		defer s.checks.Add(-1)
		var gone []copyOnDisk
		for _, x := range away {
			if r, ok := x.copy.(interface{ Gone() bool }); ok && r.Gone() {
				gone = append(gone, x)
			}
		}
		s.o.Lock.Lock()
		defer s.o.Lock.Unlock()
		for _, x := range gone {
			if s.stillThere(x) {
				s.o.Log.Warn("a spilled object is lost", "object", x.o.id.String(), "error", errFileGone)
				s.loseCopy(x.o, errFileGone)
			}
		}
		answer(s.Missing(list))
	}()
}
