package client

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// newActor makes the fake daemon's actor, with this process as its creator.
func newActor(t *testing.T, c *Client, s ActorSpec) ids.Actor {
	t.Helper()
	s.ClassName, s.FID, s.Blob = "A", []byte("class-of-sixteen"), []byte("class")
	id, _, err := c.NewActor(&s, &Value{Fmt: FmtNone}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func method(t *testing.T, c *Client, retries int) int {
	t.Helper()
	id, err := c.NewTemplate(&Template{Kind: KindMethod, Name: "A.m", Method: "m", Returns: 1, MaxRetries: retries})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func callActor(t *testing.T, c *Client, id ids.Actor, tm int, text string, deps ...ids.Object) ids.Object {
	t.Helper()
	ref, _, err := c.CallActor(id, &Call{Template: tm, Args: Value{Fmt: FmtPickle, Meta: []byte(text)}, Deps: deps})
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// outcome is what a call came to: its text, or the code of its fault.
func outcome(t *testing.T, c *Client, ref ids.Object) (text string, code fault.Code) {
	t.Helper()
	f, err := c.Get(ref, testLimit)
	if err != nil || f == nil {
		t.Errorf("no answer: %v", err)
		return "", "none"
	}
	if f.View != 0 {
		defer c.Release(Drop{View: f.View})
	}
	e, err := store.Parse(f.Envelope)
	if err != nil {
		t.Error(err)
		return "", "none"
	}
	if uint8(e.Format) == FmtFault {
		r := wire.NewReader(e.Meta)
		r.Array()
		return "", fault.Code(r.Str())
	}
	return string(e.Meta), ""
}

// run is one execution of a call.
type run struct {
	inc       uint64
	caller, n int
}

// history is what an actor ran.
type history struct {
	mu   sync.Mutex
	runs []run
}

func (h *history) add(inc uint64, it *Item) run {
	e, err := store.Parse(it.Args.Envelope)
	if err != nil {
		panic(err)
	}
	x := run{inc: inc}
	if _, err := fmt.Sscanf(string(e.Meta), "%d %d", &x.caller, &x.n); err != nil {
		panic(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs = append(h.runs, x)
	return x
}

// check holds the executions to what is promised about the order of calls, and returns how often each call ran.
func (h *history) check(t *testing.T) map[[2]int]int {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	times, newest := map[[2]int]int{}, map[int]int{}
	type place struct {
		inc    uint64
		caller int
	}
	last := map[place]int{}
	for _, x := range h.runs {
		k := [2]int{x.caller, x.n}
		if times[k]++; times[k] == 1 {
			if x.n <= newest[x.caller] {
				t.Errorf("caller %d: call %d first ran after call %d", x.caller, x.n, newest[x.caller])
			}
			newest[x.caller] = x.n
		}
		at := place{x.inc, x.caller}
		if x.n <= last[at] {
			t.Errorf("caller %d: incarnation %d ran call %d after call %d", x.caller, x.inc, x.n, last[at])
		}
		last[at] = x.n
	}
	return times
}

func TestActorLost_RandomDeaths_OrderAndRetriesAsPromised(t *testing.T) {
	for seed := range uint64(3) {
		for _, retries := range []int{0, 1, -1} {
			t.Run(fmt.Sprintf("seed %d retries %d", seed, retries), func(t *testing.T) { randomDeaths(t, seed, retries) })
		}
	}
}

func randomDeaths(t *testing.T, seed uint64, retries int) {
	const callers, calls = 3, 120
	d := startDaemon(t)
	rng := rand.New(rand.NewPCG(seed, uint64(retries+1)))
	var h history
	var a *fakeActor
	var id ids.Actor
	var deaths atomic.Int64 // the last may be while the answers are read
	ready := make(chan struct{})
	a = d.act(-1, func(inc uint64, c *Client, it *Item) {
		dies := rng.IntN(25)
		<-ready        // the actor's id is known
		if dies == 0 { // before it does anything
			deaths.Add(1)
			a.die(id, true)
			return
		}
		h.add(inc, it)
		if dies == 1 { // before it answers
			deaths.Add(1)
			a.die(id, true)
			return
		}
		echo(c, it)
		if dies == 2 { // with answers that may not have left
			deaths.Add(1)
			a.die(id, true)
		}
	})
	first := d.driver()
	var all sync.WaitGroup
	for k := range callers {
		c := first
		if k > 0 {
			c = d.driver()
		} else {
			id = newActor(t, c, ActorSpec{ActorCreate: wire.ActorCreate{MaxRestarts: -1}})
			d.eventually("the actor is registered", func() bool { return d.actors[id] != nil })
			close(ready)
		}
		if k > 0 {
			if _, err := c.OpenActor(id, "", "A", 0, 0); err != nil {
				t.Fatal(err)
			}
		}
		all.Go(func() {
			<-ready
			tm := method(t, c, retries)
			var results []ids.Object
			for n := range calls {
				results = append(results, callActor(t, c, id, tm, fmt.Sprintf("%d %d", k, n+1)))
				if n%40 == 39 {
					time.Sleep(time.Millisecond) // so that some are made while it restarts
				}
			}
			for n, ref := range results {
				want := fmt.Sprintf("%d %d", k, n+1)
				text, code := outcome(t, c, ref)
				if code == "" && text != want || code != "" && (retries < 0 || code != fault.ActorUnavailable) {
					t.Errorf("call %s got %q, %q", want, text, code)
				}
			}
		})
	}
	all.Wait()
	times := h.check(t)
	most := 1 + retries
	for k, n := range times {
		if retries >= 0 && n > most {
			t.Errorf("caller %d: call %d ran %d times, at most %d are allowed", k[0], k[1], n, most)
		}
	}
	if retries < 0 && len(times) != callers*calls {
		t.Errorf("%d calls ran, of %d", len(times), callers*calls)
	}
	t.Logf("%d deaths, %d executions", deaths.Load(), len(h.runs))
}

func TestActorLost_NotStarted_CostNoRetry(t *testing.T) {
	d := startDaemon(t)
	var h history
	var a *fakeActor
	var id ids.Actor
	hold := make(chan struct{})
	a = d.act(-1, func(inc uint64, c *Client, it *Item) {
		h.add(inc, it)
		if inc <= 3 {
			<-hold // until all calls have arrived
			a.die(id, true)
			return
		}
		echo(c, it)
	})
	c := d.driver()
	id = newActor(t, c, ActorSpec{ActorCreate: wire.ActorCreate{MaxRestarts: -1}})
	tm := method(t, c, 0)
	var results []ids.Object
	for n := range 10 {
		results = append(results, callActor(t, c, id, tm, fmt.Sprintf("0 %d", n+1)))
	}
	close(hold)
	for n, ref := range results {
		want := fault.Code("")
		if n < 3 { // one for each death
			want = fault.ActorUnavailable
		}
		if _, code := outcome(t, c, ref); code != want {
			t.Errorf("call %d: %q, not %q", n+1, code, want)
		}
	}
	h.check(t)
}

func TestActorLost_OutOfMemory_CallThatRanIsToldSo(t *testing.T) {
	for _, cause := range []fault.Code{fault.OutOfMemory, fault.GPUMemoryExceeded} {
		d := startDaemon(t)
		a := d.mortal(1, true)
		a.cause = cause
		c := d.driver()
		id := a.create(t, c)
		tm := method(t, c, 0)
		ran, waited := callActor(t, c, id, tm, "0 1"), callActor(t, c, id, tm, "0 2")
		close(a.ends) // all calls have arrived
		if _, code := outcome(t, c, ran); code != cause {
			t.Errorf("the call that ran: %q, not %q", code, cause)
		}
		if _, code := outcome(t, c, waited); code != "" {
			t.Errorf("the call behind it: %q", code)
		}
	}
}

func TestActorLost_PageUnreadable_SentCallsCountAsStarted(t *testing.T) {
	d := startDaemon(t)
	a := d.mortal(-1, false)
	c := d.driver()
	id := a.create(t, c)
	never, once := method(t, c, 0), method(t, c, 1)
	results := []ids.Object{callActor(t, c, id, never, "0 1")}
	<-a.runs
	results = append(results, callActor(t, c, id, never, "0 2"), callActor(t, c, id, once, "0 3"))
	close(a.ends)
	for n, ref := range results {
		want := fault.ActorUnavailable
		if n == 2 {
			want = ""
		}
		if _, code := outcome(t, c, ref); code != want {
			t.Errorf("call %d: %q, not %q", n+1, code, want)
		}
	}
}

// A kill's answer may be here before the end of the socket.
func TestActorLost_DeathHeardBeforeTheSocketEnds_CallsFail(t *testing.T) {
	d := startDaemon(t)
	a := d.mortal(0, true)
	c := d.driver()
	id := a.create(t, c)
	ref := callActor(t, c, id, method(t, c, -1), "0 1")
	<-a.runs
	c.mu.Lock()
	c.submit.Actors[id].Die(fault.New(fault.ActorDied, "killed"), nil)
	c.mu.Unlock()
	close(a.ends)
	if _, code := outcome(t, c, ref); code != fault.ActorDied {
		t.Errorf("%q", code)
	}
}

func TestActorLost_LastDeath_AllFailAsDead(t *testing.T) {
	d := startDaemon(t)
	var a *fakeActor
	var id ids.Actor
	a = d.act(0, func(uint64, *Client, *Item) { a.die(id, true) })
	c := d.driver()
	id = newActor(t, c, ActorSpec{})
	tm := method(t, c, -1)
	var results []ids.Object
	for range 5 {
		results = append(results, callActor(t, c, id, tm, "0 1"))
	}
	for _, ref := range results {
		if _, code := outcome(t, c, ref); code != fault.ActorDied {
			t.Errorf("%q", code)
		}
	}
}

func TestActorLost_ArgumentsLateAndCancelled_OrderHolds(t *testing.T) {
	d := startDaemon(t)
	var h history
	var a *fakeActor
	var id ids.Actor
	arrived, dead := make(chan struct{}), make(chan struct{})
	a = d.act(-1, func(inc uint64, c *Client, it *Item) {
		if inc == 1 {
			<-arrived
			a.die(id, true)
			close(dead)
			return
		}
		h.add(inc, it)
		echo(c, it)
	})
	gate := make(chan struct{})
	d.worker(func(c *Client, it *Item) {
		<-gate
		echo(c, it)
	})
	c := d.driver()
	id = newActor(t, c, ActorSpec{ActorCreate: wire.ActorCreate{MaxRestarts: -1}})
	tm := method(t, c, 0)
	slow := submitText(t, c, template(t, c, "slow"), "0 0")
	first := callActor(t, c, id, tm, "0 1")
	second := callActor(t, c, id, tm, "0 2")
	third := callActor(t, c, id, tm, "0 3", slow)
	fourth := callActor(t, c, id, tm, "0 4")
	close(arrived)
	<-dead
	if err := c.Cancel(second, false, false); err != nil {
		t.Fatal(err)
	}
	close(gate)
	for _, ref := range []ids.Object{third, fourth} {
		if _, code := outcome(t, c, ref); code != "" {
			t.Error(code)
		}
	}
	if _, code := outcome(t, c, first); code != fault.ActorUnavailable {
		t.Errorf("the one that ran: %q", code)
	}
	if _, code := outcome(t, c, second); code != "" && code != fault.TaskCancelled {
		t.Errorf("the one that was cancelled: %q", code)
	}
	h.check(t)
	h.mu.Lock()
	defer h.mu.Unlock()
	if i, j := slices.IndexFunc(h.runs, func(x run) bool { return x.n == 3 }), slices.IndexFunc(h.runs, func(x run) bool { return x.n == 4 }); i < 0 || i > j {
		t.Errorf("call 3, whose argument was late, ran after call 4: %v", h.runs)
	}
}

func TestActorLost_ConnectionOnly_IsMadeAnew(t *testing.T) {
	d := startDaemon(t)
	var h history
	begun, gate := make(chan struct{}, 10), make(chan struct{})
	a := d.act(0, func(inc uint64, c *Client, it *Item) {
		if x := h.add(inc, it); x.n <= 2 {
			begun <- struct{}{}
			<-gate
		}
		echo(c, it)
	})
	a.lives = true
	c := d.driver()
	id := newActor(t, c, ActorSpec{})
	never, again := method(t, c, 0), method(t, c, 2)
	results := []ids.Object{callActor(t, c, id, never, "0 1"), callActor(t, c, id, never, "0 2"), callActor(t, c, id, again, "0 3")}
	<-begun
	w := a.worker
	conn := func() *submit.Channel {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.submit.Actors[id].Channel
	}
	d.eventually("the calls have left the caller", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		a := c.submit.Actors[id]
		return a.Queue.Len() == 0 && a.Channel.Unsent() == 0
	})
	old := conn()
	w.mu.Lock()
	for _, k := range w.exec.Callers() {
		connOf(k).CloseWhenRead() // as when the daemon says that the caller is dead
	}
	w.mu.Unlock()
	d.eventually("the caller has noticed", func() bool { return conn() != old })
	close(gate)
	results = append(results, callActor(t, c, id, never, "0 4"))
	for n, want := range []fault.Code{fault.ActorUnavailable, fault.ActorUnavailable, "", ""} {
		if _, code := outcome(t, c, results[n]); code != want {
			t.Errorf("call %d: %q, not %q", n+1, code, want)
		}
	}
	if a.inc != 1 {
		t.Errorf("incarnation %d", a.inc)
	}
	if times := h.check(t); times[[2]int{0, 3}] == 0 || times[[2]int{0, 4}] != 1 {
		t.Errorf("%v", times)
	}
}
