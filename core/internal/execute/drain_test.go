package execute

import (
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// An actor that is to end has done everything when nothing is unread, running or queued.
func TestEnded_OnlyWhenNothingIsLeft(t *testing.T) {
	if got := (&Worker{draining: true}).Ended(); got != "released" {
		t.Errorf("an actor with nothing to do ends for %q", got)
	}
	waits := Lane{queue: []*Call{{}}}
	for what, w := range map[string]*Worker{
		"it is not to end":          {},
		"something may be unread":   {draining: true, unread: true},
		"a call runs":               {draining: true, calls: callsOf(&Call{token: 1})},
		"a call waits in the queue": {draining: true, main: waits},
		"a call waits in a group":   {draining: true, groups: []*Lane{&waits}},
	} {
		if got := w.Ended(); got != "" || !w.Going() {
			t.Errorf("%s, and it ends for %q", what, got)
		}
	}
}

// A worker that holds its callers up has not read everything yet. One that runs its last call ends with that call.
func TestAllRead_CallersAreHeldOrACallRuns_GoesOn(t *testing.T) {
	w, s := newWorker()
	c, _ := s.joins(w, "c", wire.RoleActor)
	says(t, c, templateOf(1, nil), taskOf(1, 1))
	k := begins(t, w)
	w.Drain()
	w.backlog.full = true
	w.AllRead()
	if !w.unread || w.ReadsAll() || !w.Going() {
		t.Error("a worker that does not read its callers' sockets has read everything")
	}
	w.backlog.full = false
	if !w.ReadsAll() {
		t.Error("a worker that drains does not read everything")
	}
	w.AllRead()
	if w.unread || !w.Going() {
		t.Errorf("while a call runs: unread %v, ended %q", w.unread, w.ended)
	}
	answers(w, k, 0)
	if w.Ended() != "released" {
		t.Errorf("after the last call it ends for %q", w.ended)
	}
}

// When callers that were held are read again, an actor that is to end takes into
// account that what they had sent before lies unread.
func TestUnqueued_BelowHalf_CallersAreReadAgain(t *testing.T) {
	for _, draining := range []bool{false, true} {
		w, s := newWorker()
		_, p := s.joins(w, "c", wire.RoleActor)
		p.Pause()
		w.draining = draining
		w.backlog.full, w.backlog.most, w.backlog.bytes = true, 100, 111
		k := &Call{size: 60}
		w.unqueued(k)
		if !w.backlog.full || w.backlog.bytes != 51 || w.unread || k.size != 0 || !p.paused {
			t.Fatalf("above the half: %+v, unread %v", w.backlog, w.unread)
		}
		w.unqueued(k) // it counts once
		w.unqueued(&Call{size: 1})
		if w.backlog.full || w.backlog.bytes != 50 || w.unread != draining || p.paused || s.unread == 0 {
			t.Errorf("at the half: %+v, unread %v", w.backlog, w.unread)
		}
		w.unread = false
		w.unqueued(&Call{size: 1})
		if w.unread {
			t.Error("nobody was held, and something counts as unread")
		}
	}
}

// What keeps a worker that is told to exit: calls that run or wait, until its program
// has been told that no more calls come.
func TestBusy_UntilTheProgramKnowsOfTheEnd(t *testing.T) {
	w, s := newWorker()
	c, _ := s.joins(w, "c", wire.RoleActor)
	busy := func(busy, idle bool, when string) {
		t.Helper()
		if w.Busy() != busy || w.Idle() != idle {
			t.Errorf("%s: busy %v, idle %v", when, w.Busy(), w.Idle())
		}
	}
	busy(false, true, "idle")
	says(t, c, templateOf(1, nil), taskOf(1, 1))
	busy(true, true, "a call waits")
	begins(t, w)
	busy(true, false, "a call runs")
	w.Stop("idle")
	if !slices.Contains(s.takes(), "no more calls") {
		t.Error("an event loop is not told")
	}
	w.Told(&Lane{name: "io"})
	busy(true, false, "a thread of a group is told")
	w.Told(&w.main)
	busy(false, false, "its program ends, beside a call in another thread")
	if (&Worker{actorID: ids.Actor{1}}).Idle() {
		t.Error("an actor is an idle worker")
	}
}
