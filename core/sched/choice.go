package sched

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/eagleray/eagleray/core/resource"
)

// Choice is one way to run what a class or an actor needs.
type Choice struct {
	Need resource.Set // to get a worker
	Run  resource.Set // of an actor: what it keeps while it lives
}

// A demand may have several choices: its own need, then the alternatives, in
// order. The first of them that fits now is taken. While none does they all
// stay open, and whatever comes first decides. With Class.After the first
// choice is waited for alone.
//
// How long a task has waited only its client knows: wants are numbers, and
// they cross grants on the way. So the client says how many of its wants are
// due (Wish). Actors are known one by one, and their time is measured here.

// dueLater reports whether none of what d, which waits, wants has waited for
// Class.After. The time is when the oldest will have, as far as is known.
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

// opens returns when more than the first choice of d, which waits, may be
// taken, as far as is known; false if that is so now. What the node can never
// give is not waited for, unless the node may grow.
func (m *Machine) opens(d *demand) (time.Duration, bool) {
	at, later := m.dueLater(d)
	return at, later && m.possible(d.choices[0])
}

// dropEarly unreserves the alternatives of more wants than are due: their
// tasks have found a worker meanwhile.
func (m *Machine) dropEarly(d *demand) {
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

// open returns what d, which waits, may be given now.
func (m *Machine) open(d *demand) []Choice {
	if _, later := m.opens(d); later {
		return d.choices[:1]
	}
	return d.choices
}

// possible reports whether waiting for the choice makes sense.
func (m *Machine) possible(c Choice) bool {
	_, ok := m.ledger.CanEver(c.Need)
	return ok || m.o.WaitForFit
}

// opensBy reports whether between now and then alternatives may be taken that
// could not be.
func (m *Machine) opensBy(then time.Duration) bool {
	passes := func(at time.Duration) bool { return m.now < at && at <= then }
	several := false
	for _, d := range m.waiting {
		several = several || len(d.choices) > 1
		// An actor's comes with the time alone; a class's needs a word of its client's.
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

// choose returns the first choice of d that can be taken now, -1 if none can
// or if a moment's patience brings a better one: a worker that has used a
// device mostly ends after it, and the next task is to have it.
func (m *Machine) choose(d *demand) int {
	open := m.open(d)
	for i, c := range open {
		switch {
		case m.fits(d, c.Need) && !m.claimed(d, c.Need):
			return i
		case i < len(open)-1 && m.comes(c.Need):
			return -1
		}
	}
	return -1
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

// comes reports whether need, which does not fit, fits when the workers that are leaving are gone.
func (m *Machine) comes(need resource.Set) bool {
	free := m.ledger.Free()
	then := free.Clone()
	short := false
	for w := range m.leaving() {
		held := w.hold.Resources()
		if w.blocked {
			delete(held, resource.CPU)
		}
		short = short || helps(held, need, free)
		then.Add(held)
	}
	return short && need.Fits(then)
}

// better reports whether a choice before the one that was taken may come free.
func (m *Machine) better(d *demand, taken int) bool {
	return slices.ContainsFunc(d.choices[:taken], m.possible)
}

// asks returns what d, which waits, counts as: the first choice while it is
// waited for alone, then the first that the node could ever give.
func (m *Machine) asks(d *demand) Choice {
	for _, c := range m.open(d) {
		if _, ok := m.ledger.CanEver(c.Need); ok {
			return c
		}
	}
	return d.choices[0]
}

// misfitElse reports whether an idle node could serve an alternative of d, and
// if there are some and it could serve none, why.
func (m *Machine) misfitElse(d *demand) (text string, possible bool) {
	var why []string
	for _, c := range d.choices[1:] {
		reason, ok := m.ledger.CanEver(c.Need)
		if ok {
			return "", true
		}
		why = append(why, fmt.Sprintf("%s (%s)", c.Need, reason))
	}
	if len(why) == 0 {
		return "", false
	}
	return "; of its fallback nothing fits either: " + strings.Join(why, ", "), false
}

// explainChoices says what d, which waits and has alternatives, waits for.
func (m *Machine) explainChoices(d *demand) string {
	var parts []string
	for i, c := range m.open(d) {
		text, ok := m.ledger.CanEver(c.Need)
		if ok {
			text = m.explainNeed(d, c.Need)
		} else {
			text = fmt.Sprintf("it needs %s, which the cluster does not have: %s", c.Need, text)
		}
		if i > 0 {
			text = fmt.Sprintf("for alternative %d %s", i, text)
		}
		parts = append(parts, text)
	}
	if at, later := m.opens(d); later && at > m.now {
		parts = append(parts, fmt.Sprintf("its fallback is tried in %s", (at-m.now).Round(10*time.Millisecond)))
	}
	return strings.Join(parts, "; ")
}

// choicesOf lists the first choice and the alternatives of a class.
func choicesOf(c Class, run resource.Set) []Choice {
	all := append([]Choice{{c.Need, run}}, c.Else...)
	for i := range all {
		all[i].Need = atLeast(all[i].Need, all[i].Run)
	}
	return all
}
