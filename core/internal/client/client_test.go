package client

import (
	"bytes"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/store"
)

func meta(t testing.TB, f *Found) string {
	t.Helper()
	if f == nil {
		t.Fatal("timed out")
	}
	e, err := store.Parse(f.Envelope)
	if err != nil {
		t.Fatal(err)
	}
	return string(e.Meta)
}

func submitText(t testing.TB, c *Client, tm int, text string, deps ...ids.Object) ids.Object {
	t.Helper()
	id, n, err := c.Submit(&Call{Template: tm, Args: Value{Fmt: FmtPickle, Meta: []byte(text)}, Deps: deps})
	if err != nil || n != 1 {
		t.Fatal(n, err)
	}
	return id
}

func get(t testing.TB, c *Client, id ids.Object) string {
	t.Helper()
	f, err := c.Get(id, 60*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return meta(t, f)
}

func TestSubmit_Echo_ReturnsArguments(t *testing.T) {
	d := startDaemon(t)
	d.worker(echo)
	c := d.driver()
	tm := template(t, c, "f")
	for _, s := range []string{"a", "b", "c"} {
		if got := get(t, c, submitText(t, c, tm, s)); got != s {
			t.Fatalf("got %q, want %q", got, s)
		}
	}
}

func TestSubmit_ThousandPipelined_AllAnswered(t *testing.T) {
	d := startDaemon(t)
	d.worker(echo)
	d.worker(echo)
	c := d.driver()
	tm := template(t, c, "f")
	var results []ids.Object
	for range 1000 {
		results = append(results, submitText(t, c, tm, "x"))
	}
	n := 0
	infeasible, done, err := c.Wait(results, len(results), testLimit, WaitAll, func(_ int, ready bool) {
		if ready {
			n++
		}
	})
	if err != nil || !done || infeasible != 0 || n != 1000 {
		t.Fatal(n, infeasible, done, err)
	}
	for _, r := range results {
		c.Release(Drop{Object: r})
	}
	c.mu.Lock()
	owned, borrowed := c.table.Len()
	c.mu.Unlock()
	if owned != 0 || borrowed != 0 {
		t.Fatalf("%d owned and %d borrowed objects left", owned, borrowed)
	}
}

func TestSubmit_ChainOfReferences_ResolvedWithoutGet(t *testing.T) {
	d := startDaemon(t)
	var mu sync.Mutex
	var ran []string
	end := make(chan struct{})
	d.worker(func(c *Client, it *Item) {
		mu.Lock()
		ran = append(ran, it.Tmpl.Name)
		if it.Tmpl.Name == "last" {
			close(end)
		}
		mu.Unlock()
		echo(c, it)
	})
	c := d.driver()
	r := submitText(t, c, template(t, c, "first"), "v")
	r = submitText(t, c, template(t, c, "middle"), "", r)
	last := submitText(t, c, template(t, c, "last"), "", r)
	select { // nobody calls get: the background reader has to move it on
	case <-end:
	case <-time.After(60 * time.Second):
		t.Fatal("the chain does not move without get")
	}
	if got := get(t, c, last); got != "v" {
		t.Fatalf("got %q", got)
	}
}

func TestPut_Large_GoesThroughTheArenaAndIsFreed(t *testing.T) {
	d := startDaemon(t)
	d.worker(echo)
	c := d.driver()
	data := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
	id, err := c.Put(&Value{Fmt: FmtBytes, Bufs: [][]byte{data}})
	if err != nil {
		t.Fatal(err)
	}
	r := submitText(t, c, template(t, c, "f"), "", id)
	for _, x := range []ids.Object{id, r} {
		f, err := c.Get(x, testLimit)
		if err != nil || f == nil || f.View == 0 {
			t.Fatal(f, err)
		}
		e, err := store.Parse(f.Envelope)
		if err != nil || len(e.Bufs) != 1 || !bytes.Equal(e.Bufs[0], data) {
			t.Fatal("wrong bytes", err)
		}
		c.Release(Drop{View: f.View})
		c.Release(Drop{Object: x})
	}
	d.eventually("both freed, nothing pinned", func() bool { return d.freed[string(id[:])] && d.freed[string(r[:])] && d.pins == 0 })
}

func TestGet_Timeout_ReturnsNil(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	r := submitText(t, c, template(t, c, "f"), "never")
	start := time.Now()
	if f, err := c.Get(r, 30*time.Millisecond); f != nil || err != nil {
		t.Fatal(f, err)
	}
	if e := time.Since(start); e < 30*time.Millisecond {
		t.Fatal(e)
	}
}

func TestBlockedTask_QueuedBehindIt_RunsElsewhere(t *testing.T) {
	d := startDaemon(t)
	var c *Client
	inner := make(chan ids.Object, 1)
	work := func(w *Client, it *Item) {
		if it.Tmpl.Name == "outer" {
			id := <-inner
			if f, err := c.Get(id, 60*time.Second); f == nil || err != nil {
				panic("inner did not run")
			}
			// The worker's own wait is what lends its CPU out.
			w.mu.Lock()
			w.exec.Block()
			w.exec.Unblock()
			w.mu.Unlock()
		}
		echo(w, it)
	}
	d.worker(work)
	d.worker(work)
	c = d.driver()
	out := submitText(t, c, template(t, c, "outer"), "o")
	inner <- submitText(t, c, template(t, c, "inner"), "i")
	if got := get(t, c, out); got != "o" {
		t.Fatal(got)
	}
}

func TestWorkerDies_NoRetries_WorkerCrashed(t *testing.T) {
	d := startDaemon(t)
	var w *Client
	started := make(chan struct{})
	hang := make(chan struct{})
	w = d.worker(func(*Client, *Item) { close(started); <-hang })
	t.Cleanup(func() { close(hang) })
	c := d.driver()
	r := submitText(t, c, template(t, c, "f"), "x")
	<-started
	w.mu.Lock()
	for _, k := range w.exec.Callers() {
		connOf(k).Close()
	}
	w.poller.LookSoon()
	w.mu.Unlock()
	f, err := c.Get(r, testLimit)
	if err != nil || f == nil || !f.IsError {
		t.Fatal(f, err)
	}
	e, err := store.Parse(f.Envelope)
	if err != nil || uint8(e.Format) != FmtFault || !bytes.Contains(e.Meta, []byte(fault.WorkerCrashed)) {
		t.Fatalf("%q %v", e.Meta, err)
	}
}

func BenchmarkSubmitGet(b *testing.B) {
	d := startDaemon(&testing.T{})
	b.Cleanup(func() { os.RemoveAll(d.dir) })
	d.worker(echo)
	c := d.driver()
	tm := template(b, c, "f")
	get(b, c, submitText(b, c, tm, "x"))
	for b.Loop() {
		r := submitText(b, c, tm, "x")
		get(b, c, r)
		c.Release(Drop{Object: r})
	}
}

func TestSubmit_ArgumentsTooManyForOneMessage_GoThroughTheArena(t *testing.T) {
	d := startDaemon(t)
	d.worker(func(c *Client, it *Item) {
		n := 0
		for _, f := range it.Deps {
			n += len(f.Envelope)
		}
		v := Value{Fmt: FmtPickle, Meta: []byte("short")}
		if n > 30_000*200 {
			v.Meta = []byte("all")
		}
		if err := c.Reply(it.Token, []Value{v}, 0); err != nil {
			panic(err)
		}
	})
	c := d.driver()
	var deps []ids.Object
	for range 200 {
		id, err := c.Put(&Value{Fmt: FmtBytes, Bufs: [][]byte{make([]byte, 30_000)}})
		if err != nil {
			t.Fatal(err)
		}
		deps = append(deps, id)
	}
	tm := template(t, c, "f")
	r, q := submitText(t, c, tm, "", deps...), submitText(t, c, tm, "", deps...)
	for _, x := range []ids.Object{r, q} {
		if got := get(t, c, x); got != "all" {
			t.Fatal(got)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.objects) == 0 {
		t.Fatal("nothing in the arena")
	}
}
