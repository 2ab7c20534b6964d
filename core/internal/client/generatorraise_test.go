package client

import (
	"fmt"
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// raiser is a generator of large items, whose runs raise a large exception at
// the item that raisesAt gives for the run. The text of an item and of the
// exception is its index, a dot and the number of the run.
type raiser struct {
	t    *testing.T
	d    *fakeDaemon
	c    *Client
	gen  ids.Object
	refs []ids.Object

	runs     func() int    // that have begun
	raisesAt []int         // for each run
	small    bool          // the exceptions
	second   chan struct{} // the second run waits for this before it raises, unless it is nil
}

func startRaising(t *testing.T, f Flow, raisesAt ...int) *raiser {
	g := &raiser{t: t, raisesAt: raisesAt}
	g.start(f)
	return g
}

// start starts the worker and calls the generator.
func (g *raiser) start(f Flow) {
	g.d = startDaemon(g.t)
	g.runs = g.d.countsRuns(1, func(run int, c *Client, it *Item) {
		raisesAt := g.raisesAt[run-1]
		item := func(_ *Client, i int) *Value {
			v := large(fmt.Sprintf("%d.%d", i, run))
			if i == raisesAt {
				v.Fmt = FmtError
				if g.small {
					v.Bufs = nil
				}
				if run == 2 && g.second != nil {
					<-g.second
				}
			}
			return &v
		}
		if f.Mode == FlowStream {
			generate(item)(c, it)
		} else {
			listOf(c, it, raisesAt, item)
		}
	})
	g.c = g.d.driver()
	g.gen = generator(g.t, g.c, 3, f)
}

// listOf is a worker's program for a generator that raises at its item n, whose items go to its caller as a list.
func listOf(c *Client, it *Item, n int, item func(c *Client, i int) *Value) {
	answer := Value{Fmt: FmtBytes, Meta: []byte("list")}
	var first ids.Object
	copy(first[:], it.TaskID[:])
	holds := func(i uint64) {
		answer.Nested = append(answer.Nested, ids.NewObject(first.Count()+1+i, first.Owner(), c.info.Job, uint32(i+2)))
	}
	for i := range n {
		holds(uint64(i))
		if _, err := c.FeedItem(it.Token, item(c, i), 0); err != nil {
			panic(err)
		}
	}
	last, err := c.FeedRaises(it.Token)
	if err != nil {
		panic(err)
	}
	holds(last)
	if err := c.Reply(it.Token, []Value{*item(c, n), answer}, wire.ReplyAppError|wire.ReplyLastItem); err != nil {
		panic(err)
	}
}

// take takes n items, of which the last is the exception, and the end.
func (g *raiser) take(n int) {
	g.t.Helper()
	g.refs = append(g.refs, takeItems(g.t, g.c, g.gen, n)...)
	if got := next(g.t, g.c, g.gen); got != "end" {
		g.t.Fatalf("behind the exception comes %q", got)
	}
}

func (g *raiser) wants(i int, text string, isError bool) {
	g.t.Helper()
	f, err := g.c.Get(g.refs[i], testLimit)
	if err != nil || f == nil {
		g.t.Fatalf("item %d: %v, %v", i, f, err)
	}
	env, err := g.c.Follow(f.Envelope)
	if err != nil {
		g.t.Fatalf("item %d: %v", i, err)
	}
	if got := meta(g.t, &Found{Envelope: env}); got != text || f.IsError != isError {
		g.t.Errorf("item %d is %q, an exception: %v; want %q, %v", i, got, f.IsError, text, isError)
	}
	if f.View != 0 {
		g.c.Release(Drop{View: f.View})
	}
}

// ends lets go of everything, and checks how often the generator ran and that nothing of it is left.
func (g *raiser) ends(runs int) {
	g.t.Helper()
	if n := g.runs(); n != runs {
		g.t.Errorf("the generator ran %d times, want %d", n, runs)
	}
	for _, id := range g.refs {
		g.c.Release(Drop{Object: id})
	}
	leave(g.c, g.gen)
	g.d.nothingLeft(g.t, g.c)
}

// lose has the store lose items. Of the others the store has copies that a second run must not write over.
func (g *raiser) lose(items ...int) {
	g.c.unpinUnused()
	for _, i := range items {
		g.d.loses(g.refs[i])
	}
}

// The exception with which a generator ended is an item like the others: lost, it is made again by a second run.
func TestStream_LargeExceptionIsLost_SecondRunRaisesItAgain(t *testing.T) {
	for _, lost := range [][]int{{2}, {0, 2}} {
		g := startRaising(t, Flow{Mode: FlowStream}, 2, 2)
		g.take(3)
		g.lose(lost...)
		g.wants(lost[0], fmt.Sprint(lost[0], ".2"), lost[0] == 2)
		g.wants(2, "2.2", true)
		g.wants(1, "1.1", false)
		g.ends(2)
	}
}

// A second run that raises before it has made all lost items gives them its exception. What was not lost stays as it was.
func TestStream_SecondRunRaisesEarlier_LostItemsItDidNotMakeAreItsException(t *testing.T) {
	for _, x := range []struct {
		at     int
		second string // what comes of item 1
	}{{2, "1.2"}, {1, ""}, {0, ""}} {
		g := startRaising(t, Flow{Mode: FlowStream}, 5, x.at)
		g.take(6)
		g.lose(1, 3, 4)
		raised := fmt.Sprint(x.at, ".2")
		if x.second == "" {
			g.wants(1, raised, true)
		} else {
			g.wants(1, x.second, false)
		}
		g.wants(3, raised, true)
		g.wants(4, raised, true)
		g.wants(0, "0.1", false)
		g.wants(2, "2.1", false)
		g.wants(5, "5.1", true)
		g.ends(2)
	}
}

// The worker gives the exception of a second run to the first lost item that it has not made. When the program lets
// go of that item meanwhile the other lost items have the exception all the same.
func TestStream_ItemOfTheSecondRunsExceptionIsLetGo_OtherLostItemsHaveTheException(t *testing.T) {
	for _, small := range []bool{true, false} {
		for _, gone := range [][]int{{1}, {1, 3}} {
			g := &raiser{t: t, raisesAt: []int{5, 0}, small: small, second: make(chan struct{})}
			g.start(Flow{Mode: FlowStream})
			g.take(6)
			g.lose(1, 3, 4)
			missing(g.c, g.refs[1], g.refs[3], g.refs[4])
			waitFor(t, "the second run has begun", func() bool { return g.runs() == 2 })
			for _, i := range gone {
				g.c.Release(Drop{Object: g.refs[i]})
			}
			waitFor(t, "the items are gone", func() bool {
				g.c.mu.Lock()
				defer g.c.mu.Unlock()
				g.c.TakeDrops()
				return !slices.ContainsFunc(gone, func(i int) bool { return g.c.table.Find(g.refs[i]) != nil })
			})
			close(g.second)
			for _, i := range []int{3, 4} {
				if !slices.Contains(gone, i) {
					g.wants(i, "0.2", true)
				}
			}
			g.wants(0, "0.1", false)
			g.wants(2, "2.1", false)
			g.wants(5, "5.1", true)
			for _, i := range gone {
				g.refs[i] = g.refs[0] // let go of already
			}
			g.refs = slices.Compact(g.refs)
			g.ends(2)
		}
	}
}

// The second run of a list of items goes on to its end, and raises again there. The exception was not lost, so it is not written again.
func TestStream_SecondRunOfAListRaisesAtItsEnd_FirstExceptionStays(t *testing.T) {
	g := startRaising(t, Flow{Mode: FlowDynamic}, 2, 2)
	waitFor(t, "the first run has ended", func() bool { ready, _ := g.c.Ready(g.gen); return ready })
	for i := range 3 {
		id := ids.Object(itemID(g.gen, i))
		if err := g.c.Import(id, g.c.info.Addr, 0); err != nil {
			t.Fatal(err)
		}
		g.refs = append(g.refs, id)
	}
	g.wants(2, "2.1", true)
	g.lose(0)
	g.wants(0, "0.2", false)
	waitFor(t, "the second run has ended", func() bool {
		g.c.mu.Lock()
		defer g.c.mu.Unlock()
		return g.c.submit.Open == 0
	})
	g.wants(2, "2.1", true)
	g.ends(2)
}

// A generator that is tried again after its worker's death may raise earlier than it did before. The
// items that have come stay, and the exception follows them, also one that lies in the store.
func TestStream_RetryRaisesEarlier_ExceptionFollowsWhatHasCome(t *testing.T) {
	d := startDaemon(t)
	gate := make(chan struct{})
	d.countsRuns(2, func(run int, c *Client, it *Item) {
		generate(func(w *Client, i int) *Value {
			switch {
			case run == 1 && i == 3:
				<-gate
				die(w)
				return nil
			case run == 2 && i == 1:
				v := large("raised")
				v.Fmt = FmtError
				return &v
			}
			return numbers(5)(w, i)
		})(c, it)
	})
	c := d.driver()
	gen := generator(t, c, 1, Flow{Mode: FlowStream})
	var got []string
	for range 3 {
		got = append(got, next(t, c, gen))
	}
	close(gate)
	for len(got) < 5 {
		got = append(got, next(t, c, gen))
	}
	if want := []string{"0", "1", "2", "error raised", "end"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	leave(c, gen)
	d.nothingLeft(t, c)
}

// A list of items whose retry raises earlier than the run before did holds what the retry yielded and its
// exception. The items that came of the first run only are let go of.
func TestStream_RetryOfAListRaisesEarlier_ListHoldsTheException(t *testing.T) {
	d := startDaemon(t)
	dies := make(chan struct{})
	d.countsRuns(2, func(run int, c *Client, it *Item) {
		item := func(_ *Client, i int) *Value {
			v := large(fmt.Sprintf("%d.%d", i, run))
			if run == 2 && i == 1 {
				v.Fmt = FmtError
			}
			return &v
		}
		if run == 2 {
			listOf(c, it, 1, item)
			return
		}
		for i := range 3 {
			if _, err := c.FeedItem(it.Token, item(c, i), 0); err != nil {
				panic(err)
			}
		}
		<-dies
		die(c)
	})
	c := d.driver()
	gen := generator(t, c, 1, Flow{Mode: FlowDynamic})
	waitFor(t, "three items have come", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return submit.TaskOf(c.table.Find(gen).Source()).Generator.Got() == 3
	})
	close(dies)
	waitFor(t, "the list is there", func() bool { ready, _ := c.Ready(gen); return ready })
	g := &raiser{t: t, d: d, c: c}
	c.mu.Lock()
	for _, o := range c.table.Find(gen).Contained() {
		g.refs = append(g.refs, o.ID)
	}
	c.mu.Unlock()
	if want := []ids.Object{ids.Object(itemID(gen, 0)), ids.Object(itemID(gen, 3))}; !slices.Equal(g.refs, want) {
		t.Fatalf("the list holds %v, want items 0 and 3", g.refs)
	}
	g.wants(0, "0.1", false)
	g.wants(1, "1.2", true)
	c.Release(Drop{Object: gen})
	d.nothingLeft(t, c)
}

// A list of very many items lies in the store. When it is lost a second run writes it again, alone or together with lost items.
func TestStream_LargeListIsLost_SecondRunWritesItAgain(t *testing.T) {
	for _, both := range []bool{false, true} {
		d := startDaemon(t)
		d.countsRuns(1, func(run int, c *Client, it *Item) {
			answer := large(fmt.Sprint("list.", run))
			var first ids.Object
			copy(first[:], it.TaskID[:])
			for i := range 2 {
				v := large(fmt.Sprintf("%d.%d", i, run))
				if _, err := c.FeedItem(it.Token, &v, 0); err != nil {
					panic(err)
				}
				answer.Nested = append(answer.Nested, ids.NewObject(first.Count()+1+uint64(i), first.Owner(), c.info.Job, uint32(i+2)))
			}
			_ = c.Reply(it.Token, []Value{answer}, 0)
		})
		c := d.driver()
		gen := generator(t, c, 1, Flow{Mode: FlowDynamic})
		expectOutcome(t, c, "the list", gen, "list.1", "")
		c.unpinUnused()
		item := ids.Object(itemID(gen, 1))
		d.loses(gen)
		want := "1.1"
		if both {
			d.loses(item)
			missing(c, item)
			want = "1.2"
		}
		missing(c, gen)
		expectOutcome(t, c, fmt.Sprint("the lost list, with a lost item: ", both), gen, "list.2", "")
		if err := c.Import(item, c.info.Addr, 0); err != nil {
			t.Fatal(err)
		}
		expectOutcome(t, c, "an item", item, want, "")
		c.Release(Drop{Object: item})
		c.Release(Drop{Object: gen})
		d.nothingLeft(t, c)
	}
}
