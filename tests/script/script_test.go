package script

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// adder sums numbers up, and says what the sum is when it has grown by more than three or somebody asks.
type adder struct{ sum int }

func (a *adder) do(e *Event) (effects []string) {
	before := a.sum
	switch e.Name {
	case "add":
		by, there := e.OptionNumber("by")
		if !there {
			a.sum += e.Int(0) + e.Int(1)
			return nil
		}
		a.sum += e.Int(0) * by
	case "sum":
	default:
		e.Unknown()
	}
	effects = []string{fmt.Sprint("sum ", a.sum)}
	if a.sum == before && a.sum%2 == 1 {
		effects = append(effects, "odd")
	}
	return effects
}

// The script in testdata is played, and has the effects that it says.
func TestRun_ScriptInTestdata_IsPlayed(t *testing.T) {
	played := 0
	Run(t, func(t *testing.T, src string) string {
		played++
		return Trace(t, src, new(adder).do)
	})
	if played != 1 {
		t.Errorf("%d scripts were played, want 1", played)
	}
}

// What the effects were before does not matter to the trace. Comments and empty lines stay.
func TestTrace_OldEffects_AreReplaced(t *testing.T) {
	src := "# a comment\n  an old effect\nadd 1 2\n  another\n  and one more\n\nsum\n"
	want := "# a comment\nadd 1 2\n\nsum\n  sum 3\n  odd\n"
	if got := Trace(t, src, new(adder).do); got != want {
		t.Errorf("the trace is %q, want %q", got, want)
	}
}

// failures is a test that notes how it failed.
type failures struct {
	testing.TB
	list []string
}

func (f *failures) Helper() {}

func (f *failures) Errorf(format string, a ...any) {
	f.list = append(f.list, fmt.Sprintf(format, a...))
}

func (f *failures) Fatalf(format string, a ...any) {
	f.Errorf(format, a...)
	panic(f)
}

// fails returns with what f fails the test; "" if it does not.
func fails(t *testing.T, f func(t testing.TB)) string {
	t.Helper()
	x := &failures{TB: t}
	func() {
		defer func() {
			if r := recover(); r != nil && r != any(x) {
				panic(r)
			}
		}()
		f(x)
	}()
	return strings.Join(x.list, "\n")
}

// A trace that differs fails the test, which shows the first line that differs. With -update the file gets the trace.
func TestCompare_TraceDiffers_FailsOrIsWritten(t *testing.T) {
	defer func(before bool) { *update = before }(*update)
	*update = false
	file := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(file, []byte("one\ntwo\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if why := fails(t, func(t testing.TB) { Compare(t, file, "one\ntwo\n") }); why != "" {
		t.Errorf("the same trace: %s", why)
	}
	for trace, line := range map[string]string{"one\n2\n": "line 2 is\n2\n", "one\ntwo\nthree\n": "line 3 is\nthree\n", "one\n": "line 2 is\n\n", "one": "line 2 is\n(the end)\n"} {
		if why := fails(t, func(t testing.TB) { Compare(t, file, trace) }); !strings.Contains(why, line) || !strings.Contains(why, file) {
			t.Errorf("%q: the test fails with %q, want %q", trace, why, line)
		}
	}
	*update = true
	if why := fails(t, func(t testing.TB) { Compare(t, file, "one\n2\n") }); why != "" {
		t.Errorf("with -update: %s", why)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "one\n2\n" {
		t.Errorf("the file has %q, %v", b, err)
	}
}

// An event that lacks what it is asked for fails the test and names the line.
func TestEvent_WordIsMissingOrWrong_TestFails(t *testing.T) {
	const line = "move a b=x c"
	for what, f := range map[string]func(e *Event){
		"a word that is no number":    func(e *Event) { e.Int(0) },
		"a word that is not there":    func(e *Event) { e.Int(3) },
		"an option that is no number": func(e *Event) { e.OptionNumber("b") },
		"words that are no numbers":   func(e *Event) { e.Ints() },
		"an unknown event":            func(e *Event) { e.Unknown() },
	} {
		if why := fails(t, func(t testing.TB) { f(NewEvent(t, line)) }); !strings.Contains(why, line) {
			t.Errorf("%s: the test fails with %q", what, why)
		}
	}
	if why := fails(t, func(t testing.TB) { NewEvent(t, " ") }); why == "" {
		t.Error("a line without words is an event")
	}
}

func TestEvent_Words(t *testing.T) {
	e := NewEvent(t, "move a,b, 12 size=3 fast")
	n, there := e.OptionNumber("size")
	_, other := e.OptionNumber("siz")
	got := fmt.Sprint(e.Name, e.Words, e.Word(0), e.Word(9), e.List(e.Word(0)), e.Int(1), e.Has("fast"), e.Has("slow"), e.Has("size"), e.Has("siz"), e.Option("size"), n, there, other)
	if want := fmt.Sprint("move", []string{"a,b,", "12", "size=3", "fast"}, "a,b,", "", []string{"a", "b"}, 12, true, false, true, false, "3", 3, true, false); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
