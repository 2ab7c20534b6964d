package envelope

import (
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
)

// raisedText is what is told of an exception with these texts of its head.
func raisedText(t *testing.T, head ...any) string {
	t.Helper()
	meta, err := msgpack.Marshal(head)
	if err != nil {
		t.Fatal(err)
	}
	return ExceptionText(Brief(meta), "f")
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
	const half = maxText / 2
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

func TestExceptionText_HostileEnvelope_NamesTheFunction(t *testing.T) {
	for _, b := range [][]byte{nil, {1, 2, 3}, []byte("\xdd\xff\xff\xff\xff")} {
		if got := ExceptionText(b, "f"); got != "f failed" {
			t.Errorf("%q: %q", b, got)
		}
	}
}
