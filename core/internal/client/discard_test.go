package client

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// stubborn is a worker's program. Its first runs raise exceptions, each made by
// one of its functions; the next run answers with its arguments.
type stubborn struct {
	raise []func(c *Client) Value

	mu   sync.Mutex
	ran  []string
	left []ids.Object // what its exceptions refer to
}

func (s *stubborn) run(c *Client, it *Item) {
	s.mu.Lock()
	n := len(s.ran)
	s.ran = append(s.ran, textOf(it))
	s.mu.Unlock()
	if n >= len(s.raise) {
		echo(c, it)
		return
	}
	v := s.raise[n](c)
	s.mu.Lock()
	s.left = append(s.left, v.Nested...)
	s.mu.Unlock()
	_ = c.Reply(it.Token, []Value{v}, wire.ReplyAppError)
	for _, id := range v.Nested {
		c.Release(Drop{Object: id})
	}
}

// order is the texts of the calls that began.
func (s *stubborn) order() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ran)
}

func small(*Client) Value { return exception("small") }

func big(*Client) Value {
	v := exception("big")
	v.Bufs = [][]byte{make([]byte, MaxInline+1)}
	return v
}

// referring is an exception with a reference inside, and with more than that.
func referring(with func(*Client) Value) func(c *Client) Value {
	return func(c *Client) Value {
		id, err := c.Put(text("inside"))
		if err != nil {
			panic(err)
		}
		v := with(c)
		v.Nested = []ids.Object{id}
		return v
	}
}

func again(t *testing.T, c *Client, kind int) int {
	t.Helper()
	tm := &Template{Kind: kind, Name: "f", FID: []byte("f-of-16-letters."), Blob: []byte("f"), Returns: 1, MaxRetries: 9, RetryErrs: true}
	if kind == KindMethod {
		tm.Name, tm.Method, tm.FID, tm.Blob = "A.m", "m", nil, nil
	}
	id, err := c.NewTemplate(tm)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// nothingIn waits until a worker holds nothing of exceptions that nobody gets.
func nothingIn(t *testing.T, s *stubborn, w *Client) {
	t.Helper()
	isEmpty(t, w, "calls", "held")
	waitFor(t, "what the exceptions refer to is let go of", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return !slices.ContainsFunc(s.left, func(id ids.Object) bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.TakeDrops()
			return w.table.Find(id) != nil
		})
	})
}

// A task is tried again whatever its exception is: small, in the store, or with
// references inside. Nothing of an exception that nobody gets is kept.
func TestRaised_TaskIsTriedAgain_NothingOfItsExceptionsStays(t *testing.T) {
	for _, delay := range []time.Duration{0, time.Millisecond} {
		d := startDaemon(t)
		s := &stubborn{raise: []func(*Client) Value{small, big, big, referring(small), referring(big), big, small}}
		w := d.worker(s.run)
		d.answers(wire.TObjCreate, func(m *wire.Message) bool {
			var o wire.ObjCreate
			_ = m.Decode(&o)
			if _, there := d.objects[string(o.ObjectID)]; there && !d.freed[string(o.ObjectID)] {
				t.Errorf("object %x is written again before its room is free", o.ObjectID)
			}
			return false
		})
		c := d.driver()
		c.mu.Lock()
		c.submit.Settings.RetryDelay = delay
		c.mu.Unlock()
		ref := submitText(t, c, again(t, c, KindTask), "x")
		expectOutcome(t, c, "the task", ref, "x", "")
		if n := len(s.order()); n != len(s.raise)+1 {
			t.Errorf("the task ran %d times", n)
		}
		nothingIn(t, s, w)
		letGo(t, c, ref)
		d.nothingLeft(t, c)
		c.mu.Lock()
		if c.submit.Unqueued != 0 || c.submit.Open != 0 || c.submit.Sent != 0 {
			t.Errorf("%d tasks are between two runs, %d unfinished, %d under way", c.submit.Unqueued, c.submit.Open, c.submit.Sent)
		}
		c.mu.Unlock()
	}
}

// A method that raised is tried again before the calls that wait behind it.
func TestRaised_Method_GoesBeforeWhatWaits(t *testing.T) {
	d := startDaemon(t)
	gate := make(chan struct{})
	s := &stubborn{raise: []func(*Client) Value{func(c *Client) Value {
		<-gate
		return referring(small)(c)
	}}}
	d.act(0, func(_ uint64, c *Client, it *Item) { s.run(c, it) })
	c := d.driver()
	id := newActor(t, c, ActorSpec{})
	tm := again(t, c, KindMethod)
	first := callActor(t, c, id, tm, "first")
	waitFor(t, "the first call runs", func() bool { return len(s.order()) == 1 })
	late := submitText(t, c, template(t, c, "f"), "") // no worker for it yet
	waits := callActor(t, c, id, tm, "waits", late)
	next := callActor(t, c, id, tm, "next")
	close(gate)
	waitFor(t, "the first call is tried again", func() bool { return len(s.order()) == 2 })
	expectOutcome(t, c, "the call that raised", first, "first", "")
	d.worker(echo)
	for _, ref := range []ids.Object{waits, next} {
		if _, code := outcome(t, c, ref); code != "" {
			t.Errorf("a call came to %q", code)
		}
	}
	if got := s.order(); !slices.Equal(got, []string{"first", "first", "waits", "next"}) {
		t.Errorf("the calls began in the order %q", got)
	}
}

// clearing is a task that is to be tried again after it has raised a large exception. The
// daemon has not yet said that the room of the exception is free, so no second run begins.
type clearing struct {
	*stubborn
	d   *fakeDaemon
	c   *Client
	ref ids.Object
	m   *wire.Message // which the daemon has not answered
}

func startClearing(t *testing.T) *clearing {
	k := &clearing{stubborn: &stubborn{raise: []func(*Client) Value{big}}, d: startDaemon(t)}
	k.d.worker(k.run)
	k.c = k.d.driver()
	k.d.answers(wire.TObjStats, func(m *wire.Message) bool {
		k.m = m
		return true
	})
	k.ref = submitText(t, k.c, again(t, k.c, KindTask), "x")
	k.d.eventually("the task waits for the room of its exception", func() bool { return k.m != nil })
	return k
}

// A task that is cancelled while its exception is being cleared away is cancelled, and does not run again.
func TestRaised_CancelledBeforeTheNextRun_DoesNotRunAgain(t *testing.T) {
	s := startClearing(t)
	d, c, ref := s.d, s.c, s.ref
	if err := c.Cancel(ref, false, false); err != nil {
		t.Fatal(err)
	}
	d.mu.Lock()
	_ = s.m.Reply(wire.ObjStats{})
	d.mu.Unlock()
	expectOutcome(t, c, "the task", ref, "", fault.TaskCancelled)
	letGo(t, c, ref)
	d.nothingLeft(t, c)
	if got := s.order(); len(got) != 1 {
		t.Errorf("the task ran %d times", len(got))
	}
	waitFor(t, "nothing is between two runs", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.submit.Unqueued == 0 && c.submit.Open == 0
	})
}

// The end of a session while a task is between two runs is the end of the task.
func TestRaised_SessionEndsBeforeTheNextRun_NothingHappens(t *testing.T) {
	s := startClearing(t)
	s.c.Close(0)
	if got := s.order(); len(got) != 1 {
		t.Errorf("the task ran %d times", len(got))
	}
}
