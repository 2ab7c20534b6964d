package client

import (
	"fmt"
	"sync"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

// secondRun calls a task with three large results, of which the store loses the last two. The
// task runs again for these as second says. The results are returned.
func secondRun(t *testing.T, d *fakeDaemon, retries int, second func(c *Client, it *Item)) (c *Client, list []ids.Object) {
	t.Helper()
	var mu sync.Mutex
	runs := 0
	d.worker(func(c *Client, it *Item) {
		mu.Lock()
		runs++
		run := runs
		mu.Unlock()
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
		var at wire.ObjPlace
		begin := make(chan struct{})
		c, list := secondRun(t, d, 1, func(c *Client, it *Item) {
			<-begin
			x.second(c, it)
		})
		d.mu.Lock()
		at = d.objects[string(list[0][:])]
		d.mu.Unlock()
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
	var mu sync.Mutex
	runs := 0
	d.worker(func(c *Client, it *Item) {
		mu.Lock()
		runs++
		run := runs
		mu.Unlock()
		list, flags := []Value{large(fmt.Sprint("0.", run)), large(fmt.Sprint("1.", run))}, 0
		if run == 2 {
			list, flags = list[:1], wire.ReplyAppError
			list[0].Fmt = FmtError
		}
		_ = c.Reply(it.Token, list, flags)
	})
	c := d.driver()
	tm, err := c.NewTemplate(&Template{Kind: KindTask, Name: "f", FID: []byte("sixteen bytes id"), Blob: []byte("f"), Returns: 2, MaxRetries: 2, RetryErrs: true})
	if err != nil {
		t.Fatal(err)
	}
	list := results(t, c, tm, 2, "")
	c.unpinUnused()
	d.mu.Lock()
	at := d.objects[string(list[0][:])]
	d.mu.Unlock()
	d.loses(list[1])
	missing(c, list[1])
	expectOutcome(t, c, "the lost result", list[1], "1.3", "")
	d.keeps(t, c, list[0], at)
	letGo(t, c, list...)
}
