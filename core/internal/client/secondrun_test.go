package client

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// secondRun calls a task with three large results, of which the store loses the last two. The
// task runs again for these as second says. The results are returned.
func secondRun(t *testing.T, d *fakeDaemon, retries int, second func(c *Client, it *Item)) (c *Client, list []ids.Object) {
	t.Helper()
	d.countsRuns(1, func(run int, c *Client, it *Item) {
		if run > 1 {
			second(c, it)
			return
		}
		_ = c.Reply(it.Token, []Value{large("0.1"), large("1.1"), large("2.1")}, 0)
	})
	c = d.driver()
	list = results(t, c, tasks(t, c, "f", 3, retries), 3, "")
	c.unpinUnused()
	d.loses(list[1:]...)
	missing(c, list[1:]...)
	return c, list
}

// keeps checks that the first result has its value and that nobody has freed its copy or written over it.
func (d *fakeDaemon) keeps(t *testing.T, c *Client, id ids.Object, at wire.ObjPlace) {
	t.Helper()
	if err := c.daemon.Call(t.Context(), wire.TObjStats, nil, nil); err != nil { // what was to be freed is free now
		t.Fatal(err)
	}
	expectOutcome(t, c, "the result that was not lost", id, "0.1", "")
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.freed[string(id[:])] || d.objects[string(id[:])] != at {
		t.Errorf("the copy that was not lost is freed: %v; it is at %+v, and was at %+v", d.freed[string(id[:])], d.objects[string(id[:])], at)
	}
}

// A task that runs again for lost results leaves those alone that were not lost, however the second run ends.
func TestSecondRun_EndsBadly_ResultsThatWereNotLostStay(t *testing.T) {
	raises := func(v Value) func(c *Client, it *Item) {
		v.Fmt = FmtError
		return func(c *Client, it *Item) { _ = c.Reply(it.Token, []Value{v}, wire.ReplyAppError) }
	}
	for what, x := range map[string]struct {
		second func(c *Client, it *Item)
		text   string
		code   fault.Code
	}{
		"it raises":                   {raises(*text("oops")), "oops", ""},
		"it raises a large exception": {raises(large("oops")), "oops", ""},
		"its worker dies":             {func(c *Client, _ *Item) { die(c) }, "", fault.WorkerCrashed},
		"its last result does not fit": {func(c *Client, it *Item) {
			_ = c.Reply(it.Token, []Value{large("0.2"), large("1.2"), {Fmt: FmtBytes, Bufs: [][]byte{make([]byte, 3<<20)}}}, 0)
		}, "", fault.StoreFull},
	} {
		d := startDaemon(t)
		d.answers(wire.TObjCreate, func(m *wire.Message) bool {
			var q wire.ObjCreate
			_ = m.Decode(&q)
			full := q.Size > 2<<20
			if full {
				_ = m.Fail(fault.New(fault.StoreFull, "there is no room"))
			}
			return full
		})
		begin := make(chan struct{})
		c, list := secondRun(t, d, 1, func(c *Client, it *Item) {
			<-begin
			x.second(c, it)
		})
		at := d.placeOf(list[0])
		close(begin)
		for i, id := range list[1:] {
			expectOutcome(t, c, fmt.Sprintf("%s: lost result %d", what, i+1), id, x.text, x.code)
		}
		d.keeps(t, c, list[0], at)
		letGo(t, c, list...)
	}
}

// The same holds for a second run that raises and is tried again.
func TestSecondRun_RaisesAndIsTriedAgain_ResultsThatWereNotLostStay(t *testing.T) {
	d := startDaemon(t)
	d.countsRuns(1, func(run int, c *Client, it *Item) {
		list, flags := []Value{large(fmt.Sprint("0.", run)), large(fmt.Sprint("1.", run))}, 0
		if run == 2 {
			list, flags = list[:1], wire.ReplyAppError
			list[0].Fmt = FmtError
		}
		_ = c.Reply(it.Token, list, flags)
	})
	c := d.driver()
	list := results(t, c, triedAgain(t, c, 2, 2), 2, "")
	c.unpinUnused()
	at := d.placeOf(list[0])
	d.loses(list[1])
	missing(c, list[1])
	expectOutcome(t, c, "the lost result", list[1], "1.3", "")
	d.keeps(t, c, list[0], at)
	letGo(t, c, list...)
}

// A second run that fails while the daemon is being asked about another result says nothing about that result. If
// its copy is there it keeps its value, otherwise the task runs once more for it.
func TestSecondRun_FailsWhileAnotherResultIsVerified_ThatResultDoesNotFail(t *testing.T) {
	for _, how := range []string{"raises", "dies"} {
		for _, lost := range []bool{false, true} {
			what := fmt.Sprintf("the second run %s, the other result is lost: %v", how, lost)
			d := startDaemon(t)
			var failed atomic.Bool
			began, ends := make(chan struct{}), make(chan struct{})
			again := func(c *Client, it *Item) {
				switch {
				case failed.Swap(true):
					_ = c.Reply(it.Token, []Value{large("0.3"), large("1.3"), large("2.3")}, 0)
				case how == "dies":
					close(began)
					<-ends
					die(c)
				default:
					close(began)
					<-ends
					_ = c.Reply(it.Token, []Value{{Fmt: FmtError, Meta: []byte("oops")}}, wire.ReplyAppError)
				}
			}
			retries, text, code := 2, "oops", fault.Code("")
			if how == "dies" {
				retries, text, code = 1, "", fault.WorkerCrashed
			}
			c, list := secondRun(t, d, retries, again)
			<-began
			at := d.placeOf(list[0])
			_, release := d.holdChecks()
			missing(c, list[0])
			close(ends)
			for _, id := range list[1:] {
				expectOutcome(t, c, what+": a result that it was to make", id, text, code)
			}
			switch {
			case !lost:
				release()
				d.keeps(t, c, list[0], at)
			case how == "raises":
				d.loses(list[0])
				release(list[0])
				expectOutcome(t, c, what, list[0], "0.3", "")
			default: // its retry is used up
				d.loses(list[0])
				release(list[0])
				expectOutcome(t, c, what, list[0], "", fault.LostExhausted)
			}
			letGo(t, c, list...)
		}
	}
}

// A result that is found to be lost while the second run, for others, goes on is made by a third run.
func TestSecondRun_AnotherResultIsLostMeanwhile_AThirdRunMakesIt(t *testing.T) {
	d := startDaemon(t)
	began, ends := make(chan struct{}, 2), make(chan struct{})
	c, list := secondRun(t, d, 2, func(c *Client, it *Item) {
		began <- struct{}{}
		<-ends
		_ = c.Reply(it.Token, []Value{large("0 again"), large("1 again"), large("2 again")}, 0)
	})
	<-began
	d.loses(list[0])
	missing(c, list[0])
	waitFor(t, "the daemon has said that it has no copy", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.table.Find(list[0]).Lost()
	})
	close(ends)
	for i, id := range list {
		expectOutcome(t, c, fmt.Sprint("result ", i), id, fmt.Sprint(i, " again"), "")
	}
	letGo(t, c, list...)
	if len(began) != 1 {
		t.Errorf("the task ran %d times, want 3", 2+len(began))
	}
}

// A run for lost results does not make a result whose copy is being looked for, since its copy may be there.
func TestRecompute_AnotherResultIsVerified_TheRunDoesNotMakeIt(t *testing.T) {
	d, c, m, list := computed(t, 2, 3)
	m.worker.unpinUnused()
	d.loses(list[1])
	_, release := d.holdChecks()
	c.mu.Lock()
	other, lost := c.table.Find(list[0]), c.table.Find(list[1])
	c.table.VerifyCopy(lost) // the daemon is asked about both
	lost.MarkLost()
	c.submit.Recompute(lost)
	if other.Source() != nil || lost.Source() == nil {
		t.Errorf("the run makes the result that is looked for: %v, the lost one: %v", other.Source() != nil, lost.Source() != nil)
	}
	c.mu.Unlock()
	release()
	expectOutcome(t, c, "the result that was looked for", list[0], "f0.1,", "")
	expectOutcome(t, c, "the lost result", list[1], "f1.2,", "")
	letGo(t, c, list...)
}

// A result that is lost while the second run, for another result, waits to be sent is made by the same run.
func TestSecondRun_AnotherResultIsLostBeforeItIsSent_OneRunMakesBoth(t *testing.T) {
	d := startDaemon(t)
	runs := d.countsRuns(1, func(run int, c *Client, it *Item) {
		if run == 2 {
			_ = c.Reply(it.Token, []Value{{Fmt: FmtError, Meta: []byte("oops")}}, wire.ReplyAppError)
			return
		}
		_ = c.Reply(it.Token, []Value{large(fmt.Sprint("0.", run)), large(fmt.Sprint("1.", run))}, 0)
	})
	c := d.driver()
	list := results(t, c, triedAgain(t, c, 2, 2), 2, "")
	c.unpinUnused()
	c.mu.Lock()
	c.submit.Settings.RetryDelay = time.Hour
	c.mu.Unlock()
	d.loses(list...)
	missing(c, list[1])
	delayed := func() (k *submit.Task) {
		for k = range c.submit.Delayed {
		}
		return k
	}
	// Both were asked about together, so both are lost: this run is for both. It raises, and waits for its retry.
	waitFor(t, "the second run waits for its retry", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return delayed() != nil
	})
	c.mu.Lock()
	k, o := delayed(), c.table.Find(list[0])
	o.SetSource(nil) // as if it had been found after the run had begun
	o.MarkLost()
	c.submit.Recompute(o)
	if o.Source() != k {
		t.Error("the run that waits does not make the result")
	}
	c.submit.Undelay(k)
	c.submit.Requeue(k)
	c.mu.Unlock()
	expectOutcome(t, c, "the first result", list[0], "0.3", "")
	expectOutcome(t, c, "the second result", list[1], "1.3", "")
	letGo(t, c, list...)
	if n := runs(); n != 3 {
		t.Errorf("the task ran %d times, want 3", n)
	}
}
