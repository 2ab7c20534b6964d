package daemon

import (
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/pressure"
	"github.com/eagleray/eagleray/core/sched"
	"github.com/eagleray/eagleray/core/wire"
)

// A worker that was idle in the picture has become an actor's before it is ended.
func TestVictim_IdleInThePictureAndAnActorByNow_Lives(t *testing.T) {
	d, j := opened(t)
	w, _ := ordered(d, j)
	d.mu.Lock()
	ended := sleeps(t, d, w)
	x := pressure.Worker{ID: uint64(w.id), Pid: w.pid}
	saw := d.sightOf(w, nil)
	w.actor = &actor{}
	d.mu.Unlock()
	for _, exact := range []bool{true, false} {
		if gone, is := d.endForMemory(x, saw, exact, "memory is short"); is || gone != nil {
			t.Errorf("exact %v: the actor is ended", exact)
		}
	}
	d.mu.Lock()
	if w.doomed || w.exceeded != "" {
		t.Error("the actor is ended")
	}
	saw = d.sightOf(w, nil)
	d.mu.Unlock()
	if gone, is := d.endForMemory(x, saw, true, "memory is short"); !is || gone == nil {
		t.Error("it is not ended, though it is what the picture says")
	}
	ended()
	d.mu.Lock()
	defer d.mu.Unlock()
	w.actor = nil
}

// What counts as the same work, when the picture must be exact and when it need not be.
func TestVictim_SameWork(t *testing.T) {
	lease := sched.Occupation{Client: 1, Name: "f", Since: time.Second}
	runs := sight{what: lease, answered: true, runs: wire.Running{Name: "f", Busy: 1, Call: 7, AgeUs: 100}}
	change := func(f func(s *sight)) sight {
		s := runs
		f(&s)
		return s
	}
	one, two := &actor{}, &actor{}
	for name, c := range map[string]struct {
		before, now  sight
		exact, group bool
	}{
		"the same task, which is older":  {runs, change(func(s *sight) { s.runs.AgeUs = 900 }), true, true},
		"the next task":                  {runs, change(func(s *sight) { s.runs.Call++ }), false, true},
		"a new lease of the same kind":   {runs, change(func(s *sight) { s.what.Since++; s.runs.Call++ }), false, true},
		"another function":               {runs, change(func(s *sight) { s.runs.Call, s.runs.Name = 8, "g" }), false, false},
		"a task that must not run twice": {runs, change(func(s *sight) { s.runs.Once = true }), false, false},
		"nothing any more":               {runs, change(func(s *sight) { s.runs = wire.Running{} }), false, false},
		"another caller":                 {runs, change(func(s *sight) { s.what.Client++ }), false, false},
		"in its pool":                    {runs, sight{what: sched.Occupation{Idle: true}}, false, false},
		"about to end":                   {runs, change(func(s *sight) { s.what.Ending = true }), false, false},
		"it answers no more":             {runs, sight{what: lease}, true, true},
		"it answers again":               {sight{what: lease}, runs, false, false},
		"the same actor":                 {sight{actor: one}, sight{actor: one, answered: true, runs: wire.Running{Call: 3}}, true, true},
		"another actor":                  {sight{actor: one}, sight{actor: two}, false, false},
		"an actor":                       {runs, sight{actor: one}, false, false},
		"no actor any more":              {sight{actor: one}, sight{}, false, false},
	} {
		if got := c.before.same(&c.now, true); got != c.exact {
			t.Errorf("%s: same %v, want %v", name, got, c.exact)
		}
		if got := c.before.same(&c.now, false); got != c.group {
			t.Errorf("%s: same kind of work %v, want %v", name, got, c.group)
		}
	}
}
