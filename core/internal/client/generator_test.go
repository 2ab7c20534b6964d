package client

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/execute"
	"github.com/eagleray/eagleray/core/internal/generators"
	"github.com/eagleray/eagleray/core/internal/localstore"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// generate is a worker's program for generators: yield is called for one item
// after the other until it has none.
func generate(yield func(c *Client, i int) *Value) func(*Client, *Item) {
	return func(c *Client, it *Item) {
		end, flags := []Value{{Fmt: FmtNone}}, 0
		for i := 0; ; i++ {
			v := yield(c, i)
			if v == nil {
				break
			}
			if v.Fmt == FmtError {
				end, flags = append([]Value{*v}, end...), wire.ReplyAppError|wire.ReplyLastItem
				break
			}
			st, err := c.FeedItem(it.Token, v, 0)
			if err == nil && st == FeedFull {
				st, err = c.FeedRoom(it.Token, testLimit)
			}
			if err != nil || st == FeedFull {
				panic(fmt.Sprint(st, err))
			}
			if st != FeedOpen {
				break
			}
		}
		if err := c.Reply(it.Token, end, flags); err != nil {
			panic(err)
		}
	}
}

func text(s string) *Value { return &Value{Fmt: FmtBytes, Meta: []byte(s)} }

// numbers yields n texts.
func numbers(n int) func(*Client, int) *Value {
	return func(_ *Client, i int) *Value {
		if i == n {
			return nil
		}
		return text(fmt.Sprint(i))
	}
}

func generator(t testing.TB, c *Client, retries int, f Flow) ids.Object {
	t.Helper()
	tm, err := c.NewTemplate(&Template{Kind: KindTask, Name: "g", FID: []byte("the generator's."), Blob: []byte("g"), Returns: 1, MaxRetries: retries, Flow: f})
	if err != nil {
		t.Fatal(err)
	}
	gen, n, err := c.Submit(&Call{Template: tm})
	if err != nil || n != 1 {
		t.Fatal(n, err)
	}
	return gen
}

// next takes one item and returns its text, "end", or the fault's code.
func next(t testing.TB, c *Client, gen ids.Object) string {
	t.Helper()
	id, st, err := c.NextItem(gen, testLimit)
	switch {
	case err != nil:
		t.Fatal(err)
	case st == StreamEnd:
		return "end"
	case st == StreamWaits:
		t.Fatal("no item has come")
	}
	defer c.Release(Drop{Object: id})
	f, err := c.Get(id, testLimit)
	if err != nil || f == nil {
		t.Fatal(f, err)
	}
	e, err := store.Parse(f.Envelope)
	if err != nil {
		t.Fatal(err)
	}
	s := string(e.Meta)
	if f.View != 0 {
		c.Release(Drop{View: f.View})
	}
	if f.IsError {
		return "error " + s
	}
	return s
}

func (d *fakeDaemon) nothingLeft(t *testing.T, c *Client) {
	t.Helper()
	waitFor(t, "everything is let go", func() bool {
		owned, borrowed := c.Holds()
		d.mu.Lock()
		defer d.mu.Unlock()
		for id := range d.objects {
			if !d.freed[id] {
				return false
			}
		}
		return owned+borrowed == 0 && d.pins == 0
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.submit.Generators.Len() != 0 {
		t.Errorf("%d streams are left", c.submit.Generators.Len())
	}
}

// takeItems takes the next n items of a generator.
func takeItems(t testing.TB, c *Client, gen ids.Object, n int) (items []ids.Object) {
	t.Helper()
	for i := range n {
		id, st, err := c.NextItem(gen, testLimit)
		if err != nil || st != StreamItem {
			t.Fatalf("item %d of %d that are to come: state %d, %v", i, n, st, err)
		}
		items = append(items, id)
	}
	return items
}

func leave(c *Client, gen ids.Object) {
	c.Release(Drop{Object: gen, View: DropStream})
	c.Release(Drop{Object: gen})
}

func TestStream_SmallAndLargeItems_ComeInOrderAndAreFreed(t *testing.T) {
	d := startDaemon(t)
	d.worker(generate(func(_ *Client, i int) *Value {
		if i == 500 {
			return nil
		}
		return text(fmt.Sprintf("%d.%s", i, strings.Repeat("x", i%50/49*MaxInline)))
	}))
	c := d.driver()
	gen := generator(t, c, 0, Flow{Mode: FlowStream})
	for i := range 500 {
		if got := next(t, c, gen); !strings.HasPrefix(got, fmt.Sprintf("%d.", i)) {
			t.Fatalf("item %d: %.20s", i, got)
		}
	}
	for range 2 {
		if got := next(t, c, gen); got != "end" {
			t.Fatal(got)
		}
	}
	if f, err := c.Get(gen, testLimit); err != nil || f == nil || f.IsError {
		t.Fatal(f, err)
	}
	leave(c, gen)
	d.nothingLeft(t, c)
}

func TestStream_Limit_WorkerIsNeverFurtherAhead(t *testing.T) {
	d := startDaemon(t)
	var mu sync.Mutex
	made := 0
	d.worker(generate(func(_ *Client, i int) *Value {
		mu.Lock()
		defer mu.Unlock()
		made = i + 1
		return numbers(20)(nil, i)
	}))
	c := d.driver()
	gen := generator(t, c, 0, Flow{Mode: FlowStream, Limit: 3})
	for i := range 20 {
		waitFor(t, "the worker uses its limit", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return made >= min(20, i+3)
		})
		mu.Lock()
		if made > i+3 {
			t.Errorf("%d items made when %d were taken", made, i)
		}
		mu.Unlock()
		if got := next(t, c, gen); got != fmt.Sprint(i) {
			t.Fatal(i, got)
		}
	}
	if got := next(t, c, gen); got != "end" {
		t.Fatal(got)
	}
	leave(c, gen)
	d.nothingLeft(t, c)
}

// die makes a worker vanish as a crash does: its sockets close.
func die(w *Client) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range w.exec.Callers() {
		connOf(k).Close()
	}
	w.poller.LookSoon()
}

func TestStream_WorkerDiesHalfway_AnotherGoesOn(t *testing.T) {
	for _, retries := range []int{1, 0} {
		d := startDaemon(t)
		var mu sync.Mutex
		runs := 0
		gate := make(chan struct{})
		var stored ids.Object
		work := generate(func(w *Client, i int) *Value {
			mu.Lock()
			if i == 0 {
				runs++
			}
			first := runs == 1
			mu.Unlock()
			if first && i == 3 {
				<-gate
				d.mu.Lock() // it had written an item of which it could not tell any more
				d.objects[string(itemID(stored, 4))] = wire.ObjPlace{}
				d.mu.Unlock()
				die(w)
				return nil
			}
			if i == 4 {
				return text("4" + strings.Repeat("x", MaxInline))
			}
			return numbers(6)(w, i)
		})
		d.worker(work)
		d.worker(work)
		c := d.driver()
		gen := generator(t, c, retries, Flow{Mode: FlowStream})
		stored = gen
		var got []string
		for range 3 {
			got = append(got, next(t, c, gen))
		}
		close(gate)
		for got[len(got)-1] != "end" && len(got) < 10 {
			got = append(got, strings.TrimRight(next(t, c, gen), "x"))
		}
		want := []string{"0", "1", "2", "3", "4", "5", "end"}
		if retries == 0 {
			if want = []string{"0", "1", "2", "", "end"}; strings.Contains(got[3], string(fault.WorkerCrashed)) {
				got[3] = ""
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("retries %d: %q", retries, got)
		}
		leave(c, gen)
		d.nothingLeft(t, c)
	}
}

func itemID(gen ids.Object, i int) []byte {
	return ids.NewObject(gen.Count()+1+uint64(i), gen.Owner(), ids.JobOf(1), uint32(i+2)).Raw()
}

func TestStream_ExceptionHalfway_IsTheLastItem(t *testing.T) {
	d := startDaemon(t)
	d.worker(generate(func(_ *Client, i int) *Value {
		if i == 2 {
			return &Value{Fmt: FmtError, Meta: []byte("oops")}
		}
		return numbers(5)(nil, i)
	}))
	c := d.driver()
	gen := generator(t, c, 3, Flow{Mode: FlowStream})
	for _, want := range []string{"0", "1", "error oops", "end"} {
		if got := next(t, c, gen); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	}
	if f, err := c.Get(gen, testLimit); err != nil || f == nil || f.IsError {
		t.Fatal(f, err)
	}
	leave(c, gen)
	d.nothingLeft(t, c)
}

// Who stops reading has the generator closed, unless it never wanted an item.
func TestStream_Left_IsClosedOrRunsToItsEnd(t *testing.T) {
	d := startDaemon(t)
	made := make(chan int, 1)
	endless := true
	d.worker(func(c *Client, it *Item) {
		n := 0
		generate(func(w *Client, i int) *Value {
			n = i
			if !endless && i == 50 {
				return nil
			}
			time.Sleep(100 * time.Microsecond)
			return text(strings.Repeat("x", i%2*(MaxInline+1)))
		})(c, it)
		made <- n
	})
	c := d.driver()
	gen := generator(t, c, 0, Flow{Mode: FlowStream, Limit: 40})
	next(t, c, gen)
	leave(c, gen)
	select {
	case <-made:
	case <-time.After(60 * time.Second):
		t.Fatal("the generator was not closed")
	}
	endless = false
	leave(c, generator(t, c, 0, Flow{Mode: FlowStream, Limit: 10}))
	select {
	case n := <-made:
		if n != 50 {
			t.Errorf("a generator of which nothing was wanted ended after %d items", n)
		}
	case <-time.After(60 * time.Second):
		t.Fatal("a generator that nobody reads waits for somebody to take items")
	}
	d.nothingLeft(t, c)
}

// What an item refers to lives until its caller has registered the references.
func TestStream_ReferencesInItems_LiveAsLongAsTheItems(t *testing.T) {
	d := startDaemon(t)
	var last ids.Object
	w := d.worker(generate(func(w *Client, i int) *Value {
		if i > 0 { // the one before has been sent
			w.Release(Drop{Object: last})
		}
		if i == 100 {
			return nil
		}
		id, err := w.Put(text(fmt.Sprint("inner ", i)))
		if err != nil {
			panic(err)
		}
		last = id
		return &Value{Fmt: FmtBytes, Meta: id[:], Nested: []ids.Object{id}}
	}))
	c := d.driver()
	gen := generator(t, c, 0, Flow{Mode: FlowStream})
	for i := range 100 {
		id, _, err := c.NextItem(gen, testLimit)
		if err != nil {
			t.Fatal(err)
		}
		f, err := c.Get(id, testLimit)
		if err != nil {
			t.Fatal(err)
		}
		inner, err := ids.ParseObject([]byte(meta(t, f)))
		if err != nil {
			t.Fatal(err)
		}
		if got := get(t, c, inner); got != fmt.Sprint("inner ", i) {
			t.Fatal(got)
		}
		c.Release(Drop{Object: id})
	}
	leave(c, gen)
	d.nothingLeft(t, c)
	waitFor(t, "the worker lets go", func() bool { owned, _ := w.Holds(); return owned == 0 })
}

// A caller that does not read stops the generator, not the worker.
func TestStream_CallerDoesNotRead_GeneratorWaits(t *testing.T) {
	d := startDaemon(t)
	var mu sync.Mutex
	made, done := 0, false
	value := text(strings.Repeat("x", 50<<10))
	w := d.worker(generate(func(_ *Client, i int) *Value {
		mu.Lock()
		defer mu.Unlock()
		made, done = i, i == 1000
		if done {
			return nil
		}
		return value
	}))
	caller := ids.NewWorkerOn(fakeNode).Owner()
	fd, err := w.dialer.Dial(w.Info().Addr, wire.Hello{Version: wire.Version, Role: wire.RoleLease, OwnerID: caller[:]}, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	tm := &Template{Kind: KindTask, Name: "g", FID: []byte("the generator's."), Returns: 1, Flow: Flow{Mode: FlowStream}}
	call := &submit.Task{Template: tm, First: 1, Seq: 1, Generator: new(generators.Generator)}
	if _, err := unix.Write(fd, w.submit.AppendTask(tm.Append(nil, true), call, tm)); err != nil {
		t.Fatal(err)
	}
	stopped := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		return made, done
	}
	before := -1
	waitFor(t, "the generator waits", func() bool {
		n, ended := stopped()
		if ended {
			t.Fatal("it did not wait")
		}
		same := n == before && n > 50
		before = n
		time.Sleep(50 * time.Millisecond)
		return same
	})
	if max := (execute.FeedBacklog + 1<<20) / (50 << 10); before > max {
		t.Errorf("%d items of 50 KiB wait to be read, more than %d", before, max)
	}
	buf := make([]byte, 1<<20)
	waitFor(t, "it goes on when its caller reads", func() bool {
		if _, err := unix.Read(fd, buf); err != nil {
			t.Fatal(err)
		}
		_, ended := stopped()
		return ended
	})
}

// A list of items outlives the process that called for it, be it complete or not.
func TestStream_CallerMovesAway_ListIsMadeForItsBorrowers(t *testing.T) {
	for _, before := range []bool{false, true} {
		d := startDaemon(t)
		d.successors()
		gate := make(chan struct{})
		d.worker(func(c *Client, it *Item) {
			var list []ids.Object
			for i := range 4 {
				if i == 2 {
					<-gate
				}
				if _, err := c.FeedItem(it.Token, text(fmt.Sprint("item ", i, strings.Repeat("x", i%2*MaxInline))), 0); err != nil {
					panic(err)
				}
				var first ids.Object
				copy(first[:], it.TaskID[:])
				list = append(list, ids.NewObject(first.Count()+1+uint64(i), first.Owner(), c.info.Job, uint32(i+2)))
			}
			if err := c.Reply(it.Token, []Value{{Fmt: FmtBytes, Meta: []byte("list"), Nested: list}}, 0); err != nil {
				panic(err)
			}
		})
		owner, friend := d.member(t, wire.RoleWorker), d.member(t, wire.RoleDriver)
		gen := generator(t, owner.c, 0, Flow{Mode: FlowDynamic})
		owner.refs[gen]++
		owner.give(t, gen, friend)
		waitFor(t, "two items have come", func() bool {
			owner.c.mu.Lock()
			defer owner.c.mu.Unlock()
			return owner.c.table.FindOwned(gen.Count()+2) != nil
		})
		if before {
			close(gate)
		}
		if err := owner.c.Exiting("test"); err != nil {
			t.Fatal(err)
		}
		owner.vanish()
		if !before {
			close(gate)
		}
		friend.check(t, gen, "list")
		for i := range 4 {
			item := ids.NewObject(gen.Count()+1+uint64(i), gen.Owner(), friend.c.info.Job, uint32(i+2))
			addr, _ := friend.c.Export(gen)
			if err := friend.c.Import(item, addr, 0); err != nil {
				t.Fatal(err)
			}
			friend.check(t, item, fmt.Sprint("item ", i))
			friend.c.Release(Drop{Object: item})
		}
		friend.drop(gen)
		waitFor(t, "the successor ends", func() bool {
			d.mu.Lock()
			defer d.mu.Unlock()
			return d.ended == 1 && len(d.freed) == len(d.objects)
		})
		friend.c.Close(0)
	}
}

// A generator runs again for items that were lost: those come, the others are
// not made anew; what the second run does not yield is an error.
func TestStream_RunsAgainForLostItems_OnlyTheyCome(t *testing.T) {
	d := startDaemon(t)
	var mu sync.Mutex
	most, made := 8, 0
	d.worker(generate(func(_ *Client, i int) *Value {
		mu.Lock()
		defer mu.Unlock()
		if made = i + 1; i >= most {
			return nil
		}
		return text(fmt.Sprintf("%d.%s", i, strings.Repeat("x", MaxInline)))
	}))
	c := d.driver()
	gen := generator(t, c, 0, Flow{Mode: FlowStream})
	c.mu.Lock()
	first := submit.TaskOf(c.submit.Generators.Of(gen.Count()).Task())
	c.mu.Unlock()
	items := takeItems(t, c, gen, most)
	if got := next(t, c, gen); got != "end" {
		t.Fatal(got)
	}
	again := func(lost ...int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		x := &submit.Task{Template: first.Template, First: first.First, Returns: first.Returns}
		x.Generator = generators.Again(x, first.Generator)
		for _, i := range lost {
			o := c.table.Find(items[i])
			if v := localstore.ViewOf(o); v != nil {
				o.SetCopy(nil)
				c.local.Unhold(v)
			}
			inState(o, refs.Pending)
			o.SetSource(x)
		}
		c.submit.Count(x)
		c.submit.Enqueue(x)
	}
	check := func(i int, want string) {
		t.Helper()
		f, err := c.Get(items[i], testLimit)
		if err != nil || f == nil {
			t.Fatal(f, err)
		}
		defer c.Release(Drop{View: f.View})
		if !strings.Contains(string(f.Envelope[:min(len(f.Envelope), 200)]), want) {
			t.Fatalf("item %d: %.100q, want %s", i, f.Envelope, want)
		}
	}
	d.mu.Lock()
	before := len(d.objects)
	d.objects[string(items[5][:])] = wire.ObjPlace{} // a copy that another would have to be written over
	d.mu.Unlock()
	again(1, 4)
	check(1, "1.xxx")
	check(4, "4.xxx")
	mu.Lock()
	if made != 5 {
		t.Errorf("the second run made %d items", made)
	}
	most = 2
	mu.Unlock()
	again(0, 6)
	check(0, "0.xxx")
	check(6, string(fault.StreamInconsistent))
	d.mu.Lock()
	if len(d.objects) != before || d.objects[string(items[5][:])] != (wire.ObjPlace{}) {
		t.Error("what was not lost was written again")
	}
	d.mu.Unlock()
	for _, id := range items {
		c.Release(Drop{Object: id})
	}
	leave(c, gen)
	waitFor(t, "everything is let go", func() bool { owned, _ := c.Holds(); return owned == 0 })
}
