package sites

import (
	"fmt"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// Names of functions are numbered once each. When there are too many, those that
// come later share one name, and methods are still told from functions.
func TestMakerNumber_TooManyNames_TheLaterOnesShareOne(t *testing.T) {
	var s Texts
	number := func(name string, method bool) uint32 { return s.MakerNumber(name, method) }
	f, m := number("f", false), number("f", true)
	if number("f", false) != f || number("f", true) != m || f == m {
		t.Errorf("numbers %x and %x, and then others", f, m)
	}
	says := func(n uint32, name string, method bool) {
		t.Helper()
		o := refs.Known(ids.Object{}, refs.Facts{Maker: n})
		if got := s.Maker(o); got != name || isMethod(o) != method {
			t.Errorf("number %x: %q, a method: %v; want %q, %v", n, got, isMethod(o), name, method)
		}
	}
	says(f, "f", false)
	says(m, "f", true)
	says(0, "", false)
	if n := s.NumberOf(""); n != 0 {
		t.Errorf("no text has number %x", n)
	}
	for i := range maxTexts - 1 {
		if s.NumberOf(fmt.Sprint("text ", i)) == 0 {
			t.Fatalf("text %d has no number", i)
		}
	}
	if n := s.NumberOf("one more"); n != 0 {
		t.Errorf("a text has number %x although there are too many", n)
	}
	late, method := number("late", false), number("later", true)
	if late&^ofMethod != method&^ofMethod || late == f {
		t.Errorf("numbers %x and %x of names that came late", late, method)
	}
	says(late, manyNames, false)
	says(method, manyNames, true)
	says(number("f", false), "f", false)
	if s.Len() != maxTexts+1 {
		t.Errorf("%d texts are kept", s.Len())
	}
}

// The site of a task's arguments is the same number for each of its tables, and that of another task is another one.
func TestOfArgument_EachTask_HasOneNumber(t *testing.T) {
	var s Texts
	f := s.OfArgument("f")
	for range 3 {
		if n := s.OfArgument("f"); n != f {
			t.Errorf("the second table of the task has site %x, the first one %x", n, f)
		}
	}
	g := s.OfArgument("g")
	if again := s.OfArgument("f"); g == f || again != f || s.Len() != 2 {
		t.Errorf("numbers %x of one task, %x of another one, then %x; %d texts", f, g, again, s.Len())
	}
	if got := s.Site(refs.Known(ids.Object{}, refs.Facts{Site: g})); got != "(deserialize task arg) g" {
		t.Errorf("the site is %q", got)
	}
	if n := testing.AllocsPerRun(100, func() { s.OfArgument("f") }); n != 0 {
		t.Errorf("%v allocations for a task that is known", n)
	}
	for i := range maxTexts {
		s.NumberOf(fmt.Sprint("text ", i))
	}
	if n := s.OfArgument("one too many"); n != 0 {
		t.Errorf("the site has number %x although there are too many texts", n)
	}
}

// Each number is told to another process as its texts, which have numbers of their own there.
func TestTextsOf_NumbersHere_AreTheTexts(t *testing.T) {
	s := Texts{Line: func(n uint32) string { return fmt.Sprint("line ", n) }}
	site, maker := s.TextsOf(refs.Known(ids.NewObject(3, ids.Owner{1}, ids.JobOf(1), 1), refs.Facts{Site: 7, Maker: s.MakerNumber("f", false)}))
	if site != "(task call) f | line 7" || maker != "f" {
		t.Errorf("site %q and maker %q", site, maker)
	}
}
