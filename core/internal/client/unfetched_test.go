package client

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/notice"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/vmihailenco/msgpack/v5"
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
		id := submitText(t, c, tm, fmt.Sprint("bad-", i))
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
			next := submitText(t, c, tm, "never", id)
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
		id := submitText(t, c, tm, name)
		look(id)
		c.Release(Drop{Object: id})
		c.Release(Drop{Object: submitText(t, c, tm, "after "+name)})
		if got := heard(t, said); !strings.HasSuffix(got, "after "+name) {
			t.Errorf("%s: said %q of a failure that was looked at", name, got)
		}
	}
}

func TestUnfetched_WorkerAnswersWithAFault_ItsTextIsToldUnlessTheActorDied(t *testing.T) {
	d := startDaemon(t)
	d.worker(func(c *Client, it *Item) {
		e, err := store.Parse(store.EncodeFault(fault.New(fault.Code(textOf(it)), "why it failed")))
		if err != nil {
			t.Error(err)
		}
		_ = c.Reply(it.Token, []Value{{Fmt: FmtFault, Meta: e.Meta}}, wire.ReplyAppError)
	})
	c, said := d.teller()
	tm := template(t, c, "f")
	for _, code := range []fault.Code{fault.ActorDied, fault.BadRequest} {
		id := submitText(t, c, tm, string(code))
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
	const all, shown = 500, 10
	for i := range all {
		c.Release(Drop{Object: submitText(t, c, tm, fmt.Sprint(i))})
	}
	waitFor(t, "all have failed", func() bool { return c.Footprint(false)["n_unfinished"] == 0 })
	for range shown {
		if got := heard(t, said); !strings.HasPrefix(got, "Unhandled error (") {
			t.Fatalf("said %q", got)
		}
	}
	c.Close(0) // at the latest
	if got := heard(t, said); !strings.Contains(got, fmt.Sprint(all-shown, " more")) {
		t.Fatalf("said %q at the end", got)
	}
	if len(said) != 0 {
		t.Fatalf("said %q as well", <-said)
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
		c.takesCalls()
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

// A session that has ended, or that has moved to another process, tells nothing more.
func TestNeverFetched_SessionOver_IsSilent(t *testing.T) {
	var said []string
	c := bareClient(t, Options{Role: wire.RoleDriver, Env: map[string]string{}, Unfetched: func(text string) { said = append(said, text) }})
	c.startUnfetched()
	for first, want := range []int{1, 1} {
		(*host)(c).neverFetched(&notice.Failure{First: uint64(first + 1), Fault: fault.New(fault.WorkerCrashed, "crash")})
		lost := refs.Known(ids.NewObject(uint64(first+5), c.self, c.info.Job, 1), refs.Facts{State: refs.Stored})
		(*host)(c).Unseen(lost)
		if len(said) != 2*want {
			t.Fatalf("said %q", said)
		}
		c.SetClosed(errors.New("the session is over"))
	}
}
