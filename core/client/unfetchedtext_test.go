package client

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/execute"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

// raisedText is what is told of an exception with these texts of its head.
func raisedText(t *testing.T, head ...any) string {
	t.Helper()
	meta, err := msgpack.Marshal(head)
	if err != nil {
		t.Fatal(err)
	}
	return exceptionText(briefly(meta), "f")
}

// Of a pickled exception the name of its process and its traceback are told, of a very long one both ends.
func TestExceptionText_EachHead_IsToldWhole(t *testing.T) {
	for _, x := range []struct {
		head []any
		want string
	}{
		{[]any{"f", "E: x", "Traceback\nE: x\n\n", "f() (pid=7)\n", []byte("p")}, "f() (pid=7)\nTraceback\nE: x"},
		{[]any{"f", "E: x", "Traceback\nE: x", "", []byte("p")}, "Traceback\nE: x"},
		{[]any{"f", "E: x", "Traceback\nE: x", []byte("p")}, "Traceback\nE: x"},
		{[]any{"f", "E: x", "Traceback"}, "f failed"},
		{[]any{"f", "E: x", 5, "f() (pid=7)", []byte("p")}, "f() (pid=7)\n"},
	} {
		if got := raisedText(t, x.head...); got != x.want {
			t.Errorf("%q: told %q, want %q", x.head, got, x.want)
		}
	}
	const half = unfetchedText / 2
	for extra, want := range map[int]string{
		0: strings.Repeat("a", half) + strings.Repeat("b", half),
		1: strings.Repeat("a", half) + "\n…\n" + strings.Repeat("b", half),
	} {
		if got := raisedText(t, "f", "E", strings.Repeat("a", half)+strings.Repeat("x", extra)+strings.Repeat("b", half), []byte("p")); got != want {
			t.Errorf("of %d bytes more than are told: %d bytes, %.10q … %.10q", extra, len(got), got, got[max(0, len(got)-10):])
		}
	}
	if got := raisedText(t, "f", "E", "bad \xff byte", []byte("p")); got != "bad � byte" {
		t.Errorf("told %q", got)
	}
}

// An exception that is elsewhere is told in its short form, or by its size when it has none.
func TestUnseen_ExceptionOutsideThisProcess_SaysWhatIsKnown(t *testing.T) {
	brief, err := msgpack.Marshal([]any{"f", "E: x", "in short", []byte("p")})
	if err != nil {
		t.Fatal(err)
	}
	points := func(p frame.Pointer) []byte {
		v := pointTo(&p)
		n, _ := v.layout()
		return v.envelope(n)
	}
	const begin = "Unhandled error (suppress with 'RAY_IGNORE_UNHANDLED_ERRORS=1'): "
	self := ids.NewWorker().Owner()
	for _, x := range []struct {
		what string
		o    refs.Facts
		want string
	}{
		{"a short form", refs.Facts{State: refs.Inline, Value: points(frame.Pointer{Size: 7, Brief: brief})}, begin + "in short"},
		{"no short form", refs.Facts{State: refs.Inline, Value: points(frame.Pointer{Size: 7})}, begin + "g failed because of an exception of 7 bytes, which lay in the object store"},
		{"a pointer that is none", refs.Facts{State: refs.Inline, Value: []byte("\x93\x01\x0bxyz")}, begin + "g failed"},
		{"one in the store", refs.Facts{State: refs.Stored, Size: 9}, begin + "g raised an exception of 9 bytes, which lay in the object store"},
		{"one that was looked at", refs.Facts{State: refs.Stored, Size: 9, Seen: true}, ""},
		{"one of another owner", refs.Facts{State: refs.Stored, Size: 9, OwnerAddr: "/sock"}, ""},
		{"one that is not ready", refs.Facts{State: refs.Pending}, ""},
	} {
		var said []string
		c := &Client{membership: membership{self: self}}
		c.unfetched.tell = func(text string) { said = append(said, text) }
		x.o.Maker = c.textNumber("g")
		o := refs.Known(ids.NewObject(12, self, ids.JobOf(1), 3), x.o)
		c.unseen(o)
		if got := strings.Join(said, "|"); got != x.want {
			t.Errorf("%s: told %q, want %q", x.what, got, x.want)
		}
		if len(said) > 0 && c.unfetched.task != 10 {
			t.Errorf("%s: the first result of its task has number %d, want 10", x.what, c.unfetched.task)
		}
		c.unfetched.off, said = true, nil
		c.unfetched.task = 0
		if c.unseen(o); said != nil {
			t.Errorf("%s: told although that is switched off: %q", x.what, said)
		}
	}
}

// A worker says what nobody fetched on its standard error, in order, each text once.
func TestSays_WorkersFailures_AreWrittenInOrder(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	before, err := unix.FcntlInt(2, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Dup3(int(w.Fd()), 2, 0); err != nil {
		t.Fatal(err)
	}
	w.Close()
	defer unix.Close(before)
	restored := false
	restore := func() {
		if !restored {
			restored = true
			_ = unix.Dup3(before, 2, 0)
		}
	}
	defer restore()
	c := &Client{opts: Options{Role: wire.RoleWorker, Env: map[string]string{}}, exec: new(execute.Worker)}
	c.startUnfetched()
	lines := bufio.NewScanner(r)
	idle := func() bool {
		c.says.mu.Lock()
		defer c.says.mu.Unlock()
		return !c.says.runs && len(c.says.list) == 0
	}
	for _, part := range [][]string{{"first", "second", "third"}, {"after a while"}} {
		for _, text := range part {
			c.unfetched.tell(text)
		}
		for _, want := range part {
			if !lines.Scan() || lines.Text() != want {
				restore()
				t.Fatalf("the worker says %q, want %q", lines.Text(), want)
			}
		}
		waitFor(t, "nothing waits to be written", idle)
	}
	restore() // closes the pipe's last writing end
	if lines.Scan() {
		t.Errorf("the worker says %q as well", lines.Text())
	}
}
