package client

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
)

// gated is a generator of large items whose runs wait for the test: the first
// run before some of its items, the second run before it answers that it has ended.
type gated struct {
	t      *testing.T
	c      *Client
	d      *fakeDaemon
	gen    ids.Object
	refs   []ids.Object
	gates  map[int]chan struct{}
	answer chan struct{}
	stop   chan struct{} // the test is over

	mu   sync.Mutex
	runs int
}

// startGated calls a generator of n items with two workers to run it at once.
func startGated(t *testing.T, retries, n int, gates ...int) *gated {
	d := startDaemon(t)
	g := &gated{t: t, d: d, gates: map[int]chan struct{}{}, answer: make(chan struct{}), stop: make(chan struct{})}
	for _, i := range gates {
		g.gates[i] = make(chan struct{})
	}
	run := func(c *Client, it *Item) { g.run(c, it, n) }
	d.worker(run)
	d.worker(run)
	g.c = d.driver()
	t.Cleanup(func() { close(g.stop) })
	g.gen = generator(t, g.c, retries, Flow{Mode: FlowStream})
	return g
}

// run is what the workers do. The text of an item is its index and the run that made it.
func (g *gated) run(c *Client, it *Item, n int) {
	g.mu.Lock()
	g.runs++
	run := g.runs
	g.mu.Unlock()
	st := FeedOpen
	for i := 0; i < n && st == FeedOpen; i++ {
		if run == 1 && g.gates[i] != nil {
			g.pass(g.gates[i])
		}
		v := large(fmt.Sprintf("%d.%d", i, run))
		var err error
		if st, err = c.FeedItem(it.Token, &v, 0); err == nil && st == FeedFull {
			st, err = c.FeedRoom(it.Token, testLimit)
		}
		if err != nil {
			return // the session is closed: the test is over
		}
	}
	if run == 2 {
		g.pass(g.answer)
	}
	_ = c.Reply(it.Token, []Value{{Fmt: FmtNone}}, 0)
}

func (g *gated) pass(gate chan struct{}) {
	select {
	case <-gate:
	case <-g.stop:
	}
}

// take takes the next n items.
func (g *gated) take(n int) {
	g.t.Helper()
	g.refs = append(g.refs, takeItems(g.t, g.c, g.gen, n)...)
}

// lose has the store lose items that nobody reads at the moment.
func (g *gated) lose(items ...int) {
	g.c.unpinUnused()
	for _, i := range items {
		g.d.loses(g.refs[i])
	}
}

// wants checks which run made items: each is the index of an item, a dot and the number of the run.
func (g *gated) wants(list ...string) {
	g.t.Helper()
	for _, want := range list {
		var i int
		if _, err := fmt.Sscanf(want, "%d.", &i); err != nil {
			g.t.Fatal(err)
		}
		f, err := g.c.Get(g.refs[i], testLimit)
		if err != nil || f == nil {
			g.t.Fatalf("item %d: %v, %v", i, f, err)
		}
		if got := meta(g.t, f); got != want {
			g.t.Errorf("item %d is %q, want %q", i, got, want)
		}
		if f.View != 0 {
			g.c.Release(Drop{View: f.View})
		}
	}
}

// unfinished waits until so many runs have not ended for their caller.
func (g *gated) unfinished(n int) {
	g.t.Helper()
	waitFor(g.t, fmt.Sprintf("%d runs have not ended", n), func() bool {
		g.c.mu.Lock()
		defer g.c.mu.Unlock()
		return g.c.submit.Open == n
	})
}

func (g *gated) ranTimes(n int) {
	g.t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.runs != n {
		g.t.Errorf("the generator ran %d times, want %d", g.runs, n)
	}
}

// An item that is lost while its generator runs is made by a second run beside the first, if the generator may
// run again. Otherwise the error says why not. The first run goes on, and nothing is left in the end.
func TestStreamRecovery_ItemLostWhileItsGeneratorRuns_ASecondRunMakesIt(t *testing.T) {
	for _, retries := range []int{3, 0} {
		g := startGated(t, retries, 5, 3)
		close(g.answer)
		g.take(3)
		g.d.loses(g.refs[1])
		if retries == 0 {
			expectOutcome(t, g.c, "the lost item", g.refs[1], "", fault.LostNoRetries)
		} else {
			g.wants("1.2")
		}
		g.wants("0.1", "2.1")
		close(g.gates[3])
		g.take(2)
		g.wants("3.1", "4.1")
		if got := next(t, g.c, g.gen); got != "end" {
			t.Errorf("behind the last item comes %.20q", got)
		}
		g.ranTimes(1 + min(1, retries))
		for _, id := range g.refs {
			g.c.Release(Drop{Object: id})
		}
		leave(g.c, g.gen)
		waitFor(t, "everything is let go", func() bool { owned, _ := g.c.Holds(); return owned == 0 })
	}
}

// The second run of a generator, for a lost item, may end after the first run.
// Items that are lost later together are made by one run, also those that the
// second run did not know because they came after it had begun.
func TestStreamRecovery_SecondRunEndsAfterTheFirst_OneRunMakesAllThatIsLostLater(t *testing.T) {
	for _, retries := range []int{-1, 2} { // the second and the third run take two retries
		g := startGated(t, retries, 4, 3)
		g.take(3)
		g.lose(1)
		g.wants("1.2")
		close(g.gates[3])
		g.take(1)
		g.unfinished(1) // the first run has ended, the second has not
		close(g.answer)
		g.unfinished(0)
		g.lose(0, 3)
		g.wants("0.3", "1.2", "2.1", "3.3")
		g.ranTimes(3)
	}
}

// All runs of a generator share its budget of retries, also those that begin while the first run goes on.
func TestStreamRecovery_RetriesAreUsedUp_ALaterLossIsTold(t *testing.T) {
	for retries := 1; retries <= 2; retries++ {
		g := startGated(t, retries, 4, 3)
		close(g.answer)
		g.take(3)
		for run := range retries {
			g.lose(run)
			g.wants(fmt.Sprintf("%d.%d", run, run+2))
			g.unfinished(1) // the run for the lost item has ended, the first has not
		}
		g.lose(2)
		expectOutcome(t, g.c, fmt.Sprintf("%d retries: an item that is lost after the retries were used up", retries), g.refs[2], "", fault.LostExhausted)
		close(g.gates[3])
		g.take(1)
		g.unfinished(0)
		g.lose(3)
		expectOutcome(t, g.c, fmt.Sprintf("%d retries: an item that is lost after the generator's end", retries), g.refs[3], "", fault.LostExhausted)
		g.ranTimes(1 + retries)
	}
}

// A lost item that a second run could make, and a lost item that came after
// that run had ended, are made by one run, while the first run goes on.
func TestStreamRecovery_ItemsFromBeforeAndAfterASecondRunAreLost_OneRunMakesThem(t *testing.T) {
	for _, order := range []string{"1.3 3.3", "3.3 1.3"} {
		g := startGated(t, -1, 5, 3, 4)
		g.take(3)
		g.lose(1)
		g.wants("1.2")
		close(g.answer)
		g.unfinished(1) // the second run has ended, the first has not
		close(g.gates[3])
		g.take(1)
		g.lose(1, 3)
		g.wants(strings.Fields(order)...)
		g.ranTimes(3)
		close(g.gates[4])
		g.take(1)
		g.unfinished(0)
		g.lose(0, 4)
		g.wants("0.4", "1.3", "2.1", "3.3", "4.4")
		g.ranTimes(4)
	}
}
