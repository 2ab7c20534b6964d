package client

import (
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

// leaseMoves notes which leases the daemon is told to count for another class.
func (d *fakeDaemon) leaseMoves() (list func() []wire.LeaseMove) {
	var seen []wire.LeaseMove
	d.answers(wire.TLeaseMove, func(m *wire.Message) bool {
		var q wire.LeaseMove
		_ = m.Decode(&q)
		seen = append(seen, q)
		return true
	})
	return func() []wire.LeaseMove {
		d.mu.Lock()
		defer d.mu.Unlock()
		return slices.Clone(seen)
	}
}

// A lease that rests runs a task of another function when that needs the same.
// It does not when the function needs anything else, or chooses its workers one by one.
func TestTakeIdle_OneRests_OnlyFunctionsThatNeedTheSameGetIt(t *testing.T) {
	other := map[string]int64{"CPU": 1}
	for what, change := range map[string]func(*Template){
		"the same":                       nil,
		"other resources":                func(tm *Template) { tm.Resources = other },
		"another environment":            func(tm *Template) { tm.EnvKey = "e" },
		"another strategy":               func(tm *Template) { tm.Strategy = "SPREAD" },
		"memory that is enforced":        func(tm *Template) { tm.Enforce = true },
		"an alternative":                 func(tm *Template) { tm.Fallback = []*Template{{Resources: other}} },
		"an alternative after a while":   func(tm *Template) { tm.Fallback, tm.AfterMs = []*Template{{Resources: other}}, 1 },
		"workers that end after a call":  func(tm *Template) { tm.MaxCalls = 1 },
		"workers that end when they can": func(tm *Template) { tm.MaxCalls = CallsUntilLeak },
	} {
		d := startDaemon(t)
		moves, wants := d.leaseMoves(), d.leaseWants()
		c := d.driver()
		ref, goOn, _, idle := twoLeases(t, d, c)
		c.mu.Lock()
		for _, k := range c.classes { // its functions may come back
			k.templates++
		}
		c.mu.Unlock()
		before, beforeWants := len(moves()), len(toldWants(t, c, wants))
		tm := &Template{Kind: KindTask, Name: "h", FID: []byte("another-function"), Blob: []byte("h"), Returns: 1}
		if change != nil {
			change(tm)
		}
		id, err := c.NewTemplate(tm)
		if err != nil {
			t.Fatal(err)
		}
		x := submit(t, c, id, "x")
		toldWants(t, c, wants)
		got, asked := moves()[before:], 0
		for _, w := range wants()[beforeWants:] {
			asked += w.Want
		}
		c.mu.Lock()
		class := c.tmpls[id].class.id
		c.mu.Unlock()
		switch {
		case change == nil && (len(got) != 1 || got[0].LeaseID != idle.id || got[0].ClassID != class || asked != 0):
			t.Errorf("%s: the lease that rests does not run it: %+v, %d leases are wanted", what, got, asked)
		case change != nil && (len(got) != 0 || asked == 0):
			t.Errorf("%s: the lease that rests runs it: %+v, %d leases are wanted", what, got, asked)
		case change == nil:
			expectOutcome(t, c, "the task", x, "x", "")
		default:
			if err := c.Cancel(x, false, false); err != nil {
				t.Fatal(err)
			}
		}
		goOn()
		expectOutcome(t, c, "the task that ran already", ref, "waits", "")
	}
}

// A lease whose queue is empty serves the function that has waited longest, and each of those that wait in turn.
func TestServeOther_SeveralFunctionsWait_EachHasItsTurn(t *testing.T) {
	d := startDaemon(t)
	moves := d.leaseMoves()
	gate := make(chan struct{})
	d.worker(func(w *Client, it *Item) {
		if textOf(it) == "waits" {
			<-gate
		}
		echo(w, it)
	})
	c := d.driver()
	first := submit(t, c, template(t, c, "f"), "waits")
	waitFor(t, "it runs", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.inflight == 1
	})
	var results []ids.Object
	var classes []uint32
	for _, name := range []string{"g", "h", "i"} {
		tm := template(t, c, name)
		c.mu.Lock()
		classes = append(classes, c.tmpls[tm].class.id)
		c.mu.Unlock()
		results = append(results, submit(t, c, tm, name))
	}
	close(gate)
	expectOutcome(t, c, "the first", first, "waits", "")
	for i, ref := range results {
		expectOutcome(t, c, "one that waited", ref, []string{"g", "h", "i"}[i], "")
	}
	toldWants(t, c, func() []wire.LeaseWant { return nil }) // the daemon has heard all
	var served []uint32
	for _, m := range moves() {
		served = append(served, m.ClassID)
	}
	if !slices.Equal(served, classes) {
		t.Errorf("the lease served the classes %v, want %v", served, classes)
	}
}

// The list of the functions that wait has those with a queue that can run, each once.
func TestNote_QueueFillsAndEmpties_TheListFollows(t *testing.T) {
	s := &shape{}
	a, b := &class{shape: s}, &class{shape: s}
	is := func(what string, want ...*class) {
		t.Helper()
		for _, k := range []*class{a, b} {
			k.note()
			k.note()
			if k.listed != slices.Contains(want, k) {
				t.Errorf("%s: a class is said to be listed: %v", what, k.listed)
			}
		}
		if !slices.Equal(s.waiting, want) {
			t.Errorf("%s: %d classes wait, want %d", what, len(s.waiting), len(want))
		}
	}
	is("nothing waits")
	b.queue.push(&task{})
	is("one waits", b)
	a.queue.push(&task{})
	is("both wait", b, a)
	b.queue.pop()
	is("the first has nothing more", a)
	a.bad = fault.New(fault.RuntimeEnvSetup, "no such module")
	is("the other cannot run")
	a.bad = nil
	b.queue.push(&task{})
	is("both wait again", a, b)
	alone := &class{}
	alone.queue.push(&task{})
	if alone.note(); alone.listed {
		t.Error("a class without a shape is in a list")
	}
}

// Leases that rest are counted, each once, and not in classes that share nothing.
func TestRest_LeasesBeginAndEndToRest_AreCountedOnce(t *testing.T) {
	s := &shape{}
	a, b, alone := &lease{class: &class{shape: s}}, &lease{class: &class{shape: s}}, &lease{class: &class{}}
	for i, x := range []struct {
		l    *lease
		idle bool
		want int
	}{{a, true, 1}, {a, true, 1}, {b, true, 2}, {alone, true, 2}, {a, false, 1}, {a, false, 1}, {alone, false, 1}, {b, false, 0}} {
		if x.l.setIdle(x.idle); s.idle != x.want || x.l.idle != x.idle {
			t.Errorf("step %d: %d leases rest, want %d", i, s.idle, x.want)
		}
	}
}
