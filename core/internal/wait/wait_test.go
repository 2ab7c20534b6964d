package wait

import (
	"testing"
	"testing/synctest"
	"time"
)

// event is one thing that a wait is told of an object.
type event byte

const (
	ready event = iota
	failed
	infeasible
	feasible
)

func (w *Wait) told(e event) bool {
	switch e {
	case ready, failed:
		return w.Ready(e == failed)
	case infeasible:
		return w.Infeasible()
	}
	w.Feasible()
	return false
}

func TestWait_EndsWithTheEventThatDecidesIt(t *testing.T) {
	for name, c := range map[string]struct {
		missing, open int
		failFast      bool
		events        []event
		endsAt        int // the number of the event that ends it, from 1; 0: none does
	}{
		"enough are ready":                           {2, 3, false, []event{ready, ready, ready}, 2},
		"a failed object counts as ready":            {2, 3, false, []event{failed, ready}, 2},
		"the first failure ends one that fails fast": {3, 3, true, []event{ready, failed}, 2},
		"an infeasible object is none of the ready":  {1, 2, false, []event{infeasible}, 0},
		"no object is left that can become ready":    {2, 2, false, []event{infeasible, ready}, 2},
		"all are infeasible":                         {1, 2, false, []event{infeasible, infeasible}, 2},
		"infeasible ends one that fails fast":        {1, 2, true, []event{infeasible}, 1},
		"a feasible one is waited for again":         {2, 2, false, []event{infeasible, feasible, ready, ready}, 4},
	} {
		w := New().For(c.missing, c.open, c.failFast)
		got := 0
		for i, e := range c.events {
			if w.told(e) && got == 0 {
				got = i + 1
			}
		}
		if got != c.endsAt {
			t.Errorf("%s: event %d ends the wait, want %d", name, got, c.endsAt)
		}
	}
}

func TestWait_End_IsFirstOnce(t *testing.T) {
	w := New()
	if w.Over() {
		t.Error("a new wait is over")
	}
	if !w.End() || w.End() || !w.Over() {
		t.Error("only the first end of a wait is its end")
	}
	if w.GaveUp() || w.Early() {
		t.Error("a wait that ended by itself says that it gave up, or ended early")
	}
	w.GiveUp()
	w.EndEarly()
	if !w.GaveUp() || !w.Early() {
		t.Error("the reason of the end is lost")
	}
}

func TestWait_Missing_FollowsWhatIsReady(t *testing.T) {
	w := New().For(3, 5, false)
	w.Ready(false)
	w.Infeasible()
	if w.Missing() != 2 {
		t.Errorf("one of three is ready, and %d are missing", w.Missing())
	}
}

func TestWait_Call_OnlyOfAFunction(t *testing.T) {
	called := 0
	if !Calling(func() { called++ }).Call() || called != 1 {
		t.Errorf("the function was called %d times", called)
	}
	if New().Call() {
		t.Error("the wait of a thread has a function")
	}
}

func TestWait_Sleep_EndsByWakeOrLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, w := time.Now(), New()
		w.Sleep(time.Hour)
		if took := time.Since(began); took != time.Hour {
			t.Errorf("a thread that nobody wakes slept for %v, want an hour", took)
		}
		time.AfterFunc(time.Minute, w.Wake)
		w.Sleep(-1)
		w.Wake()
		w.Wake() // as well as once
		w.Sleep(time.Hour)
		if took := time.Since(began); took != time.Hour+time.Minute {
			t.Errorf("three sleeps took %v, want an hour and a minute", took)
		}
		w.Sleep(time.Second)
		if took := time.Since(began); took != time.Hour+time.Minute+time.Second {
			t.Errorf("a wake-up that came twice was kept twice: %v", took)
		}
	})
}
