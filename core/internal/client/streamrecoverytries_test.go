package client

import (
	"fmt"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/submit"
)

// A second run that goes on after the first has ended may use up the retries of all runs. Then no item can be
// made again: neither the one that it made, nor those that the first run has yielded.
func TestStreamRecovery_SecondRunUsesTheRetriesUpAfterTheFirstEnded_NoItemIsMadeAgain(t *testing.T) {
	for _, ends := range []bool{true, false} { // the second run, before the next item is lost
		g := &gated{t: t, d: startDaemon(t), gates: map[int]chan struct{}{3: make(chan struct{})}, answer: make(chan struct{}), stop: make(chan struct{})}
		dies, third := make(chan struct{}), make(chan struct{})
		run := func(c *Client, it *Item) {
			g.mu.Lock()
			run := g.runs + 1
			if run == 2 {
				g.runs++
			}
			g.mu.Unlock()
			switch run {
			case 2:
				g.pass(dies)
				die(c)
				return
			case 3:
				g.pass(third)
			}
			g.run(c, it, 4)
		}
		for range 3 {
			g.d.worker(run)
		}
		g.c = g.d.driver()
		t.Cleanup(func() { close(g.stop) })
		g.gen = generator(t, g.c, 2, Flow{Mode: FlowStream})
		g.take(3)
		g.lose(1)
		missing(g.c, g.refs[1])
		waitFor(t, "the second run has begun", func() bool { g.mu.Lock(); defer g.mu.Unlock(); return g.runs == 2 })
		close(g.gates[3])
		g.take(1)
		g.unfinished(1) // the first run has ended, the second has not
		close(dies)
		waitFor(t, "the second run is tried again", func() bool {
			g.c.mu.Lock()
			defer g.c.mu.Unlock()
			x := submit.TaskOf(g.c.table.Find(g.refs[1]).Source())
			return x != nil && x.Tried() == 2
		})
		if ends {
			close(third)
			g.unfinished(0)
			g.wants("1.3")
		}
		g.lose(0)
		expectOutcome(t, g.c, "an item of the first run", g.refs[0], "", fault.LostExhausted)
		if !ends {
			close(third)
			g.wants("1.3")
			g.unfinished(0)
		}
		g.lose(1, 3)
		expectOutcome(t, g.c, "the item of the second run", g.refs[1], "", fault.LostExhausted)
		expectOutcome(t, g.c, "another item of the first run", g.refs[3], "", fault.LostExhausted)
		g.ranTimes(3)
	}
}

// A run that could make lost items may be forgotten to save memory while the first run still yields, or is
// about to end. The generator itself can make them then.
func TestStreamRecovery_SecondRunIsForgotten_TheGeneratorMakesWhatIsLost(t *testing.T) {
	for _, ends := range []bool{false, true} { // the first run, while the daemon looks for the item
		g := startGated(t, -1, 4, 3)
		close(g.answer)
		g.take(3)
		g.lose(1)
		g.wants("1.2")
		g.unfinished(1) // the second run has ended, the first has not
		_, release := g.d.holdChecks()
		g.lose(1)
		missing(g.c, g.refs[1])
		g.c.mu.Lock()
		if !g.c.table.DropOldest() {
			t.Error("no run is kept")
		}
		g.c.mu.Unlock()
		if ends {
			close(g.gates[3])
			g.take(1)
			g.unfinished(0)
		}
		release(g.refs[1])
		g.wants("0.1", "1.3", "2.1")
		g.ranTimes(3)
	}
}

// A second run that raises while the first run still yields gives its exception to the lost item only: the
// generator ends as its first run does.
func TestStreamRecovery_SecondRunRaises_FirstRunStillEndsWell(t *testing.T) {
	d := startDaemon(t)
	g := &gated{t: t, d: d, stop: make(chan struct{})}
	gate := make(chan struct{})
	var secondOn *Client // the worker of the second run; the first run's may still be on its way to the gate
	run := generate(func(c *Client, i int) *Value {
		g.mu.Lock()
		second := c == secondOn
		g.mu.Unlock()
		v := large(fmt.Sprint(i))
		switch {
		case second && i == 1:
			v.Fmt = FmtError
		case !second && i == 3:
			g.pass(gate)
			return nil
		}
		return &v
	})
	for range 2 {
		d.worker(func(c *Client, it *Item) {
			g.mu.Lock()
			if g.runs++; g.runs == 2 {
				secondOn = c
			}
			g.mu.Unlock()
			run(c, it)
		})
	}
	g.c = d.driver()
	t.Cleanup(func() { close(g.stop) })
	tm, err := g.c.NewTemplate(&Template{Kind: KindTask, Name: "g", FID: []byte("the generator's."), Blob: []byte("g"), Returns: 1, MaxRetries: 1, RetryErrs: true, Flow: Flow{Mode: FlowStream}})
	if err != nil {
		t.Fatal(err)
	}
	if g.gen, _, err = g.c.Submit(&Call{Template: tm}); err != nil {
		t.Fatal(err)
	}
	g.take(3)
	g.lose(1)
	f, err := g.c.Get(g.refs[1], testLimit)
	if err != nil || f == nil || !f.IsError {
		t.Fatalf("the lost item is %+v, %v; want the exception of the second run", f, err)
	}
	close(gate)
	if got := next(t, g.c, g.gen); got != "end" {
		t.Errorf("behind the last item comes %q", got)
	}
	if f, err := g.c.Get(g.gen, testLimit); err != nil || f == nil || f.IsError {
		t.Errorf("the generator has ended as %+v, %v; its first run ended well", f, err)
	}
	g.ranTimes(2)
}
