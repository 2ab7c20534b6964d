package resume

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// healing is how long everything may take to come through once the faults have ended. A connection may have to be
// found dead first, and a process to be met anew.
const healing = 40 * time.Second

// quick is how long a byte and its acknowledgement may take then.
const quick = time.Second

var errLate = errors.New("all has come through, but too late")

// Finish ends the faults. Everything that was written must come through, and both ends must agree on what is open.
// After that a byte must come through at once.
func (w *world) Finish() error {
	w.calm = true
	w.net.UnblockAll()
	if !w.o.Relay {
		w.wall = [2]bool{}
	}
	if err := w.comesThrough(healing); err != nil {
		return err
	}
	if err := w.movesBack(); err != nil {
		return err
	}
	for _, n := range w.nodes {
		n.writes(n.ends[Control], 1)
	}
	if err := w.comesThrough(quick); err != nil {
		return err
	}
	return w.rests()
}

// comesThrough lets everything that was written arrive, for as long as that may take.
func (w *world) comesThrough(within time.Duration) error {
	until := w.now + within
	for {
		busy, err := w.round()
		switch {
		case err != nil:
			return err
		case busy:
		case w.now > until:
			return fmt.Errorf("after %v: %w", within, cmp.Or(w.finished(), errLate))
		case w.finished() == nil:
			return nil
		case !w.later():
			return fmt.Errorf("nothing is to come any more: %w", w.finished())
		}
		if err := w.settle(); err != nil {
			return err
		}
	}
}

// movesBack heals the direct way. The session must use it again, if it has anything to do.
func (w *world) movesBack() error {
	w.wall = [2]bool{}
	w.note("the direct way is healed")
	for _, n := range w.nodes {
		if len(n.s.streams) == 0 {
			n.opens()
			break
		}
	}
	until := w.now + longestProbe + healing
	for w.now < until {
		if one, other := w.nodes[0].s, w.nodes[1].s; one.conn != nil && other.conn != nil && !one.conn.relayed && !other.conn.relayed {
			return w.comesThrough(quick)
		}
		if busy, err := w.round(); busy || err != nil {
			if err != nil {
				return err
			}
		} else if !w.later() {
			break
		}
		if err := w.settle(); err != nil {
			return err
		}
	}
	return errors.New("the direct way is healed, and the session stays at the relay")
}

// round has all programs and the network do what they can. It returns false when that is nothing.
func (w *world) round() (busy bool, err error) {
	before := w.log.Count()
	for _, n := range w.nodes {
		if n.spoke != n.s {
			n.spoke = n.s
			n.writes(n.ends[Control], 1)
		}
		for len(n.dials) > 0 {
			n.dialsOne()
		}
		for _, e := range n.order {
			n.reads(e)
		}
		if err := n.pump(); err != nil {
			return false, err
		}
	}
	for range 50 {
		if err := w.deliver(); err != nil {
			return false, err
		}
		if err := w.settle(); err != nil {
			return false, err
		}
	}
	return w.log.Count() != before, nil
}

// finished returns what has not come through.
func (w *world) finished() error {
	for i, n := range w.nodes {
		peer := w.nodes[1-i]
		switch {
		case n.s.conn == nil || n.s.peerBoot != peer.s.o.Boot:
			return fmt.Errorf("node %d has no connection to the other one", i)
		case n.s.unsent() > 0:
			return fmt.Errorf("node %d keeps %d bytes", i, n.s.unsent())
		case !slices.Equal(slices.Sorted(maps.Keys(n.s.streams)), slices.Sorted(maps.Keys(peer.s.streams))):
			return fmt.Errorf("node %d has streams %v, the other one %v", i, maps.Keys(n.s.streams), maps.Keys(peer.s.streams))
		case n.s.own != peer.s.its || len(n.s.streams) != len(n.ends)-1:
			return fmt.Errorf("node %d counts %d streams of its own, the other one %d, and %d are open", i, n.s.own, peer.s.its, len(n.ends)-1)
		}
		for _, e := range n.order {
			if r := n.record(e.id); e.todo > 0 || peer.ends[e.id] == nil || peer.ends[e.id].read != r.written {
				return fmt.Errorf("node %d has %d bytes left for stream %d, and has written %+v", i, e.todo, e.id, r)
			}
		}
	}
	return nil
}

// rests checks that sessions without work give memory back, and then need no clock.
func (w *world) rests() error {
	for range 10 {
		if !w.later() {
			return nil
		}
		if err := w.settle(); err != nil {
			return err
		}
	}
	return fmt.Errorf("sessions without work need the clock again and again")
}

// later moves the time to when one of the sessions must hear of it.
func (w *world) later() bool {
	least := time.Duration(0)
	for _, n := range w.nodes {
		if t, ok := n.s.NextTime(); ok {
			if d := n.clock.Until(w.now, t); least == 0 || d < least {
				least = d
			}
		}
	}
	if least > 0 {
		w.pass(least)
	}
	return least > 0
}
