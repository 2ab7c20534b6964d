package waiting

import (
	"cmp"
	"slices"
	"time"
)

const (
	// After is how long something has waited when the user is told.
	After = 10 * time.Second
	// Again passes at least until the user is told again.
	Again = time.Minute
	// Pause is the time from one look to the next, while anything waits.
	Pause = time.Second
)

// Ticks is how many looks there were since something began to wait that has waited
// for After. It began between two looks.
const Ticks = uint32(After/Pause) + 1

// Watch says at which looks something has waited for long. The zero value has looked at nothing.
type Watch struct {
	Armed    bool                 // there will be another look
	Looks    uint32               // how often it was looked at what waits
	Reported map[string]time.Time // what was reported, and when to report it again
	from     uint32               // the look that came last before the watch was armed
}

// Arm is told that something waits. It reports whether the first look has to be prepared.
func (w *Watch) Arm() bool {
	if w.Armed {
		return false
	}
	w.Armed, w.from = true, w.Looks
	return true
}

// Look counts a look. It reports whether something can have waited for long by now.
func (w *Watch) Look() bool {
	w.Looks++
	return w.Long(w.from)
}

// Long reports whether something that began to wait at a look has waited for After.
func (w *Watch) Long(since uint32) bool { return w.Looks-since >= Ticks }

// Report returns what of a list the user was not told in the last minute, by name, and
// notes that the user is told now.
func (w *Watch) Report(l *List, now time.Time) (out []*Report) {
	for _, r := range l.All {
		if now.Before(w.Reported[r.kind+r.Name]) {
			continue
		}
		if w.Reported == nil {
			w.Reported = map[string]time.Time{}
		}
		w.Reported[r.kind+r.Name] = now.Add(Again)
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b *Report) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
