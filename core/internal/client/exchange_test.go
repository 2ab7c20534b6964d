package client

import (
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
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
		for _, k := range c.submit.Classes { // its functions may come back
			k.Templates++
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
		x := submitText(t, c, id, "x")
		toldWants(t, c, wants)
		got, asked := moves()[before:], 0
		for _, w := range wants()[beforeWants:] {
			asked += w.Want
		}
		c.mu.Lock()
		class := c.submit.Templates[id].Class.ID
		c.mu.Unlock()
		switch {
		case change == nil && (len(got) != 1 || got[0].LeaseID != idle.ID || got[0].ClassID != class || asked != 0):
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
	first := submitText(t, c, template(t, c, "f"), "waits")
	waitFor(t, "it runs", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.submit.Sent == 1
	})
	var results []ids.Object
	var classes []uint32
	for _, name := range []string{"g", "h", "i"} {
		tm := template(t, c, name)
		c.mu.Lock()
		classes = append(classes, c.submit.Templates[tm].Class.ID)
		c.mu.Unlock()
		results = append(results, submitText(t, c, tm, name))
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
