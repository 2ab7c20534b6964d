package pressure

import (
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// What counts as the same work, when the picture must be exact and when it need not be.
func TestWork_Same(t *testing.T) {
	lease := Work{Client: 1, Name: "f", Since: at(1)}
	runs := lease
	runs.Answered, runs.Runs = true, wire.Running{Name: "f", Busy: 1, Call: 7, AgeUs: 100}
	change := func(f func(w *Work)) Work {
		w := runs
		f(&w)
		return w
	}
	one, two := Work{Actor: ids.NewActor(ids.JobOf(1))}, Work{Actor: ids.NewActor(ids.JobOf(1))}
	answers := one
	answers.Answered, answers.Runs = true, wire.Running{Call: 3}
	for name, c := range map[string]struct {
		before, now  Work
		exact, group bool
	}{
		"the same task, which is older":         {runs, change(func(w *Work) { w.Runs.AgeUs = 900 }), true, true},
		"the next task":                         {runs, change(func(w *Work) { w.Runs.Call++ }), false, true},
		"the next task of a new lease":          {runs, change(func(w *Work) { w.Since = at(2); w.Runs.Call++ }), false, true},
		"a new lease that answers nothing":      {lease, change(func(w *Work) { *w = lease; w.Since = at(2) }), false, true},
		"another function":                      {runs, change(func(w *Work) { w.Runs.Call, w.Runs.Name = 8, "g" }), false, false},
		"a lease for another function":          {runs, change(func(w *Work) { w.Name = "g" }), false, false},
		"a task that must not run twice":        {runs, change(func(w *Work) { w.Runs.Once = true }), false, false},
		"a worker between two tasks":            {runs, change(func(w *Work) { w.Runs = wire.Running{} }), false, false},
		"a task of another caller":              {runs, change(func(w *Work) { w.Client++ }), false, false},
		"an idle worker":                        {runs, Work{Idle: true}, false, false},
		"a worker that was idle and still is":   {Work{Idle: true}, Work{Idle: true}, true, true},
		"a worker that was idle in between":     {Work{Idle: true}, Work{Idle: true, Since: at(3)}, false, true},
		"a worker that is about to end":         {runs, change(func(w *Work) { w.Ending = true }), false, false},
		"a worker that answers no more":         {runs, lease, true, true},
		"a worker that answers again":           {lease, runs, false, false},
		"the same actor":                        {one, answers, true, true},
		"the same actor, which is about to end": {one, Work{Actor: one.Actor, Ending: true}, false, false},
		"another actor":                         {one, two, false, false},
		"an actor instead of a task":            {runs, one, false, false},
		"no actor any more":                     {one, Work{}, false, false},
	} {
		if got := c.before.Same(c.now, true); got != c.exact {
			t.Errorf("%s: the same call is %v, want %v", name, got, c.exact)
		}
		if got := c.before.Same(c.now, false); got != c.group {
			t.Errorf("%s: the same kind of work is %v, want %v", name, got, c.group)
		}
	}
}

// What the daemon tells of a worker decides whether the worker may be ended, and as what.
func TestView_Candidate(t *testing.T) {
	now := at(100)
	task := func(f func(w *Work)) View {
		v := View{ID: 5, Pid: 50, Work: Work{Client: 3, Name: "leased", Since: at(10)}}
		f(&v.Work)
		return v
	}
	answered := func(r wire.Running) View {
		return task(func(w *Work) { w.Answered, w.Runs = true, r })
	}
	actor := View{ID: 5, Pid: 50, Class: "A", Owner: "driver", Work: Work{Actor: ids.NewActor(ids.JobOf(1)), Since: at(1)}}
	again := actor
	again.MayRestart = true
	busy := actor
	busy.Work.Answered, busy.Work.Runs = true, wire.Running{Name: "A.m", Busy: 1, AgeUs: 5, Once: true}
	for name, c := range map[string]struct {
		view View
		want Worker
	}{
		"an idle worker":                       {task(func(w *Work) { *w = Work{Idle: true, Since: at(7)} }), Worker{Kind: Idle, Started: at(7)}},
		"a leased worker that runs nothing":    {answered(wire.Running{}), Worker{Kind: Idle, Started: at(10)}},
		"a leased worker that does not say":    {task(func(*Work) {}), Worker{Kind: Task, Owner: "3", Name: "leased", Started: at(10)}},
		"a task":                               {answered(wire.Running{Name: "f", Busy: 1, AgeUs: 2e6}), Worker{Kind: Task, Owner: "3", Name: "f", Started: at(98)}},
		"a task that must not run twice":       {answered(wire.Running{Name: "f", Busy: 2, Once: true}), Worker{Kind: Once, Owner: "3", Name: "f", Started: now}},
		"a task without a name":                {answered(wire.Running{Busy: 1}), Worker{Kind: Task, Owner: "3", Name: "leased", Started: now}},
		"a task whose name is not text":        {answered(wire.Running{Name: "f\xff", Busy: 1}), Worker{Kind: Task, Owner: "3", Name: "f?", Started: now}},
		"an actor":                             {actor, Worker{Kind: LastActor, Owner: "driver", Name: "A", Started: at(1)}},
		"an actor that may restart":            {again, Worker{Kind: Restarts, Owner: "driver", Name: "A", Started: at(1)}},
		"an actor that runs a call at present": {busy, Worker{Kind: LastActor, Owner: "driver", Name: "A", Started: at(1)}},
	} {
		c.want.ID, c.want.Pid, c.want.Work = 5, 50, c.view.Work
		if got, ok := c.view.candidate(now); !ok || got != c.want {
			t.Errorf("%s: got %+v (%v), want %+v", name, got, ok, c.want)
		}
	}
	if w, ok := task(func(w *Work) { w.Ending = true }).candidate(now); ok {
		t.Errorf("a worker that is ending may be ended: %+v", w)
	}
	if got, _ := answered(wire.Running{Name: "f", Busy: 1, AgeUs: -5}).candidate(now); got.Started.Sub(now) != 5*time.Microsecond {
		t.Errorf("a negative age gives %v", got.Started)
	}
}
