package client

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/execute"
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/store"
	"github.com/eagleray/eagleray/core/wire"
)

// exception is what a worker answers for an exception, as task_error.py encodes it.
func exception(text string) Value {
	head, err := msgpack.Marshal([]any{"f", "ValueError: " + text, "Traceback\nValueError: " + text + "\n", "eagleray::f() (pid=7)", []byte("pickle")})
	if err != nil {
		panic(err)
	}
	return Value{Fmt: FmtError, Meta: head}
}

// raising is a worker whose tasks raise the text that they were given.
func raising(c *Client, it *Item) {
	_ = c.Reply(it.Token, []Value{exception(textOf(it))}, wire.ReplyAppError)
}

// teller is a driver, and what it says of failures that nobody has fetched.
func (d *fakeDaemon) teller() (*Client, chan string) {
	d.t.Helper()
	said := make(chan string, 1000)
	c, err := Connect(Options{Socket: d.sock(), Role: wire.RoleDriver, Background: lend, Unfetched: func(text string) { said <- text }})
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { c.Close(time.Second) })
	return c, said
}

func heard(t *testing.T, said chan string) string {
	t.Helper()
	select {
	case text := <-said:
		return text
	case <-time.After(testLimit):
		t.Fatal("nothing was said of a failure that nobody has fetched")
	}
	return ""
}

func TestUnfetched_LastReferenceGoes_IsTold(t *testing.T) {
	d := startDaemon(t)
	d.worker(raising)
	c, said := d.teller()
	tm := template(t, c, "f")
	whenLate := func(id ids.Object) {} // the answer finds nobody who holds the result
	whenThere := func(id ids.Object) {
		for ready := false; !ready; {
			ready, _ = c.Ready(id)
		}
	}
	for i, until := range []func(ids.Object){whenLate, whenThere} {
		id := submit(t, c, tm, fmt.Sprint("bad-", i))
		until(id)
		c.Release(Drop{Object: id})
		want := fmt.Sprintf("Unhandled error (suppress with 'RAY_IGNORE_UNHANDLED_ERRORS=1'): eagleray::f() (pid=7)\nTraceback\nValueError: bad-%d", i)
		if got := heard(t, said); got != want {
			t.Fatalf("said %q, want %q", got, want)
		}
	}
}

func TestUnfetched_SomebodyLooked_IsNotTold(t *testing.T) {
	d := startDaemon(t)
	d.worker(raising)
	c, said := d.teller()
	tm := template(t, c, "f")
	looks := map[string]func(id ids.Object){
		"get": func(id ids.Object) { get(t, c, id) },
		"wait": func(id ids.Object) {
			if _, _, err := c.Wait([]ids.Object{id}, 1, testLimit, WaitSome, func(int, bool) {}); err != nil {
				t.Fatal(err)
			}
		},
		"select": func(id ids.Object) {
			if _, _, err := c.Select([]*ids.Object{&id}, 1, testLimit, false, make([]uint32, 1)); err != nil {
				t.Fatal(err)
			}
		},
		"argument": func(id ids.Object) {
			next := submit(t, c, tm, "never", id)
			get(t, c, next)
			c.Release(Drop{Object: next})
		},
		"cancel": func(id ids.Object) {
			if err := c.Cancel(id, false, false); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, look := range looks {
		id := submit(t, c, tm, name)
		look(id)
		c.Release(Drop{Object: id})
		c.Release(Drop{Object: submit(t, c, tm, "after "+name)})
		if got := heard(t, said); !strings.HasSuffix(got, "after "+name) {
			t.Errorf("%s: said %q of a failure that was looked at", name, got)
		}
	}
}

func TestUnfetched_WorkerAnswersWithAFault_ItsTextIsToldUnlessTheActorDied(t *testing.T) {
	d := startDaemon(t)
	d.worker(func(c *Client, it *Item) {
		e, err := store.Parse(encodeFault(fault.New(fault.Code(textOf(it)), "why it failed")))
		if err != nil {
			t.Error(err)
		}
		_ = c.Reply(it.Token, []Value{{Fmt: FmtFault, Meta: e.Meta}}, wire.ReplyAppError)
	})
	c, said := d.teller()
	tm := template(t, c, "f")
	for _, code := range []fault.Code{fault.ActorDied, fault.BadRequest} {
		id := submit(t, c, tm, string(code))
		for ready := false; !ready; {
			ready, _ = c.Ready(id)
		}
		c.Release(Drop{Object: id})
	}
	if got := heard(t, said); !strings.HasSuffix(got, ": f failed: why it failed") {
		t.Errorf("said %q", got)
	}
}

func TestUnfetched_Many_AreCounted(t *testing.T) {
	d := startDaemon(t)
	d.worker(raising)
	c, said := d.teller()
	tm := template(t, c, "f")
	const all = 500
	for i := range all {
		c.Release(Drop{Object: submit(t, c, tm, fmt.Sprint(i))})
	}
	for {
		c.mu.Lock()
		over := c.unfetched.shown == all
		c.mu.Unlock()
		if over {
			break
		}
		time.Sleep(time.Millisecond)
	}
	for range unfetchedShown {
		if got := heard(t, said); !strings.HasPrefix(got, "Unhandled error (") {
			t.Fatalf("said %q", got)
		}
	}
	c.Close(0) // at the latest
	if got := heard(t, said); !strings.Contains(got, fmt.Sprint(all-unfetchedShown, " more")) {
		t.Fatalf("said %q at the end", got)
	}
	if len(said) != 0 {
		t.Fatalf("said %q as well", <-said)
	}
}

func TestUnfetched_HostileEnvelope_NamesTheFunction(t *testing.T) {
	for _, b := range [][]byte{nil, {1, 2, 3}, []byte("\xdd\xff\xff\xff\xff")} {
		if got := exceptionText(b, "f"); got != "f failed" {
			t.Errorf("%q: %q", b, got)
		}
	}
}

// A worker's words are named by the task that ran last; an actor's have its name
// anyway, and a name of several lines cannot be told in one.
func TestLabelled_TasksNameInFront(t *testing.T) {
	for _, x := range []struct {
		name  string // of what has run last
		actor bool
		want  string
	}{
		{"f", false, "\x1f:name:f\ntext"},
		{"", false, "text"},
		{"f", true, "text"},
		{"f\ng", false, "text"},
		{"f\rg", false, "text"},
	} {
		c := bareClient(t, Options{})
		c.exec = execute.New((*host)(c), c.info.Job)
		switch frames := [][]byte{templateOf(1, named(x.name)), callOf(1, 1, "")}; {
		case x.actor:
			if err := c.exec.BecomeActor(startOf(frames...), nil); err != nil {
				t.Fatal(err)
			}
			begins(t, c)
		case x.name != "":
			worksFor(t, c, wire.RoleLease, frames...)
			begins(t, c)
		}
		if got := c.labelled("text"); got != x.want {
			t.Errorf("%+v: got %q", x, got)
		}
	}
}

// Where the exception itself is not in this process, what is known of it is told.
func TestNeverFetched_ExceptionElsewhere_SaysWhatIsKnown(t *testing.T) {
	var said []string
	c := &Client{}
	c.unfetched.tell = func(text string) { said = append(said, text) }
	begin := "Unhandled error (suppress with 'RAY_IGNORE_UNHANDLED_ERRORS=1'): "
	for i, x := range []struct {
		size uint64
		f    *fault.Error
		want string
	}{
		{5 << 20, nil, begin + "f raised an exception of 5242880 bytes, which lay in the object store"},
		{0, fault.New(fault.WorkerCrashed, "its worker died"), begin + "its worker died"},
		{0, fault.New(fault.OutOfMemory, "too much"), begin + "too much"},
		{0, fault.New(fault.TaskCancelled, "cancelled"), ""},
		{0, fault.New(fault.ActorDied, "dead"), ""},
	} {
		said = nil
		c.neverFetched(uint64(i+1), "f", nil, x.size, x.f)
		c.neverFetched(uint64(i+1), "f", nil, x.size, x.f) // another result of the same task
		if got := strings.Join(said, "|"); got != x.want {
			t.Errorf("got %q, want %q", got, x.want)
		}
	}
	said = nil
	c.closed = true
	if c.neverFetched(99, "f", nil, 1, nil); said != nil {
		t.Errorf("a closed session said %q", said)
	}
}

// What was not shown is counted, and told when the window is over or when the
// next failure comes after it.
func TestNeverFetched_WindowOver_TheRestIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []string
		c := &Client{}
		c.unfetched.tell = func(text string) { said = append(said, text) }
		n := uint64(0)
		fails := func(many int) {
			c.mu.Lock()
			defer c.mu.Unlock()
			for range many {
				n++
				c.neverFetched(n, "f", nil, 0, fault.New(fault.WorkerCrashed, "first line\ncrash %d\n", n))
			}
		}
		fails(unfetchedShown)
		time.Sleep(2 * unfetchedWindow)
		synctest.Wait()
		if len(said) != unfetchedShown {
			t.Fatalf("said %q", said)
		}
		said = nil
		fails(unfetchedShown + 3)
		time.Sleep(unfetchedWindow + time.Second)
		synctest.Wait()
		if len(said) != unfetchedShown+1 || !strings.HasPrefix(said[unfetchedShown], "Unhandled errors: 3 more within 5s") || !strings.HasSuffix(said[unfetchedShown], "the last one: crash 23") {
			t.Fatalf("said %d, the last one %q", len(said), said[len(said)-1])
		}
		said = nil
		fails(1)
		if len(said) != 1 {
			t.Errorf("in the next window: %q", said)
		}
		c.unfetched.off = true
		fails(20)
		time.Sleep(2 * unfetchedWindow)
		if len(said) != 1 {
			t.Errorf("switched off: %q", said)
		}
	})
}

// What waits for a standard error that nobody reads is bounded.
func TestSays_NobodyReads_IsBounded(t *testing.T) {
	s := says{runs: true} // its goroutine writes
	for range maxSays + 5 {
		s.add("x")
	}
	if len(s.list) != maxSays {
		t.Errorf("%d lines wait, want %d", len(s.list), maxSays)
	}
}
