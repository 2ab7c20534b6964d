package sched

import (
	"iter"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/internal/resource"
)

// A demand may have several choices: its own need, and then the alternatives, in order. The
// first choice that fits now is taken. While none fits, all choices stay open, and the one
// that fits first is taken. With Class.After, the first choice alone is open for that time.
//
// Only the client knows how long a task has waited, because wants are numbers and cross
// grants on their way. So the client says how many of its wants are due (WantUpdate). Actors are
// known one by one, and the machine measures their time.

// dueLater reports whether no want of d, which waits, has waited for Class.After yet. It
// returns when the oldest want will have, as far as that is known.
func (m *Machine) dueLater(d *demand) (at time.Duration, later bool) {
	switch {
	case d.class.After == 0 || len(d.choices) < 2:
		return 0, false
	case d.isActor():
		at = d.queue[0].since + d.class.After
		return at, at > m.now
	}
	return d.dueAt, d.due <= len(d.reserved) // reservations serve the oldest
}

// alternativesFrom returns the time from which on the alternatives of d, which waits, may be
// taken, as far as that is known; later is false if they may be taken now. A choice that the
// node can never give is not waited for, unless the node may grow.
func (m *Machine) alternativesFrom(d *demand) (at time.Duration, later bool) {
	at, later = m.dueLater(d)
	return at, later && m.possible(d.choices[0])
}

// unreserveNotDue gives reserved alternatives back when there are more of them than wants
// that are due: the other tasks have found a worker meanwhile.
func (m *Machine) unreserveNotDue(d *demand) {
	if d.class.After == 0 || d.isActor() || !m.possible(d.choices[0]) {
		return
	}
	n := 0
	for _, r := range slices.Clone(d.reserved) {
		if r.choice == 0 {
			continue
		}
		if n++; n > d.due {
			m.unreserve(r)
		}
	}
}

// openChoices returns the choices that d, which waits, may be given now.
func (m *Machine) openChoices(d *demand) []Choice {
	if _, later := m.alternativesFrom(d); later {
		return d.choices[:1]
	}
	return d.choices
}

// possible reports whether waiting for the choice makes sense.
func (m *Machine) possible(c Choice) bool {
	_, ok := m.ledger.CanEver(c.Need)
	return ok || m.o.WaitForFit
}

// alternativesOpenBy reports whether alternatives that may not be taken now may be taken at
// the time then.
func (m *Machine) alternativesOpenBy(then time.Duration) bool {
	passes := func(at time.Duration) bool { return m.now < at && at <= then }
	several := false
	for _, d := range m.waiting {
		several = several || len(d.choices) > 1
		// For an actor the time alone decides. For a class its client has to say so.
		if d.isActor() && passes(d.queue[0].since+d.class.After) {
			return true
		}
	}
	if several {
		for w := range m.leaving() {
			if passes(w.endSince + LeavingFor) {
				return true
			}
		}
	}
	return false
}

// leaving yields the workers that have been ending for less than LeavingFor and hold something.
func (m *Machine) leaving() iter.Seq[*worker] {
	return func(yield func(*worker) bool) {
		for _, w := range m.workers {
			if w.leaves && w.hold != nil && m.now < w.endSince+LeavingFor && !yield(w) {
				return
			}
		}
	}
}

// fitsSoon reports whether need, which does not fit, fits when the workers that are leaving are gone.
func (m *Machine) fitsSoon(need resource.Set) bool {
	free := m.freeFor(need)
	then := free.Clone()
	short := false
	for w := range m.leaving() {
		held := w.hold.Frees()
		short = short || helps(held, need, free)
		then.Add(held)
	}
	return short && need.Fits(then)
}

// betterMayCome reports whether a choice before the one that was taken may come free.
func (m *Machine) betterMayCome(d *demand, taken int) bool {
	return slices.ContainsFunc(d.choices[:taken], m.possible)
}

// countsAs returns the choice as which d, which waits, is counted: the first one while that
// is waited for alone, and then the first one that the node could ever give.
func (m *Machine) countsAs(d *demand) Choice {
	for _, c := range m.openChoices(d) {
		if _, ok := m.ledger.CanEver(c.Need); ok {
			return c
		}
	}
	return d.choices[0]
}
