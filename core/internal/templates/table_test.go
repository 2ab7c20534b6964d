package templates

import (
	"slices"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/snapshot"
)

func maker(*Template[class]) uint32 { return 7 }

func function(name string) *Template[class] {
	return &Template[class]{Kind: frame.KindTask, Name: name, FID: []byte("0123456789abcdef"), Blob: []byte("code of " + name)}
}

func numbers(x *Table[class]) (list []int) {
	for _, t := range x.AllTemplates() {
		list = append(list, t.ID)
	}
	return list
}

// A template is removed when the program cannot call it, no task of it is without an answer and no finished task may
// run again. Then its numbers, those of its alternatives too, are given to the next templates.
func TestTable_TemplateOfNoUse_NumbersAreUsedAgain(t *testing.T) {
	var x Table[class]
	first, other := function("f"), function("g")
	first.Fallback = []*Template[class]{{Name: "small"}, {}}
	x.AddTemplate(first, maker)
	x.AddTemplate(other, maker)
	if got := numbers(&x); !slices.Equal(got, []int{0, 1, 2, 3}) || first.ID != 0 || other.ID != 3 || other.Maker() != 7 || first.Fallback[0].Maker() != 7 {
		t.Fatalf("the templates have numbers %v", got)
	}
	small, same := first.Fallback[0], first.Fallback[1]
	if small.Name != "small" || same.Name != "f" || string(same.Blob) != "code of f" || x.TemplateAt(1) != small || x.TemplateAt(4) != nil || x.TemplateAt(-1) != nil {
		t.Errorf("the alternatives are %+v and %+v", small, same)
	}
	first.Submitted()
	first.RecipeKept()
	steps := []struct {
		what   string
		change func()
	}{
		{"the program can call it", func() {}},
		{"a task has no answer", first.Retire},
		{"a finished task may run again", func() { first.Ended(false) }},
	}
	for _, s := range steps {
		if s.change(); x.Unneeded(first) {
			t.Errorf("%s, but it is unneeded", s.what)
		}
	}
	if first.RecipeGone(); !x.Unneeded(first) || x.Unneeded(other) {
		t.Error("nothing needs it, but it is kept")
	}
	larger := first.WithMemory(5)
	first.Larger = larger
	if got := x.RemoveTemplate(first); len(got) != 1 || got[0] != larger || !larger.Retired() || first.Larger != nil || first.Blob != nil || x.Unneeded(first) {
		t.Errorf("the template of its retries is %+v", got)
	}
	if y := x.Endings.Retired[[2]string{"f", "task"}]; y == nil || y.Finished != 1 {
		t.Errorf("its tasks are counted as %+v", y)
	}
	if got := numbers(&x); !slices.Equal(got, []int{3}) {
		t.Errorf("templates %v are left", got)
	}
	next := function("h")
	next.Fallback = []*Template[class]{{}, {}, {}}
	if x.AddTemplate(next, maker); !slices.Equal(numbers(&x), []int{0, 1, 2, 3, 4}) || len(x.FreeIDs) != 0 {
		t.Errorf("templates %v, free %v", numbers(&x), x.FreeIDs)
	}
}

// A successor gets templates as they were, under the numbers that they had. A number that is taken, or that no process gives, is refused.
func TestRestoreTemplate_NumbersThatCannotBe_AreRefused(t *testing.T) {
	old := function("f")
	old.ID, old.Fallback, old.Resources, old.Group, old.Flow = 3, []*Template[class]{{ID: 5}}, map[string]int64{"CPU": 2}, "io", frame.Flow{Mode: frame.FlowStream}
	x := old.Snapshot()
	back := Restored[class](&x)
	var table Table[class]
	if err := table.RestoreTemplate(back, maker); err != nil || !back.Retired() || back.Maker() != 7 || table.TemplateAt(3) != back || table.TemplateAt(5) != back.Fallback[0] {
		t.Fatalf("%v: %+v", err, back)
	}
	if back.ClassKey() != old.ClassKey() || back.Group != "io" || back.Flow != old.Flow || string(back.Blob) != "code of f" {
		t.Errorf("it comes back as %+v", back)
	}
	for _, id := range []int{3, 5, -1, mostIDs + 1} {
		bad := Restored[class](&snapshot.Template{Number: id, Name: "g"})
		if err := table.RestoreTemplate(bad, maker); err == nil || !strings.Contains(err.Error(), "was handed over twice") {
			t.Errorf("number %d: %v", id, err)
		}
	}
	if err := table.RestoreTemplate(Restored[class](&snapshot.Template{Number: 9, Fallback: []snapshot.Template{{Number: 3}}}), maker); err == nil {
		t.Error("an alternative has a number that is taken")
	}
}

// Functions are forgotten by the hash of their code: all templates of it count.
func TestForgetFunction_TasksWithoutAnAnswer_AreReported(t *testing.T) {
	var x Table[class]
	f, g := function("f"), function("g")
	other := function("h")
	other.FID = []byte("another function")
	for _, y := range []*Template[class]{f, g, other} {
		x.AddTemplate(y, maker)
	}
	other.Submitted()
	if x.ForgetFunction(f.FID) || x.FunctionRuns(f.FID) || !f.Forget || !g.Forget || other.Forget {
		t.Error("a task of another function counts")
	}
	g.Submitted()
	g.Submitted()
	if !x.ForgetFunction(f.FID) || !x.FunctionRuns(f.FID) {
		t.Error("a task of the same function, in another template, does not count")
	}
	if g.Ended(true) || !g.Ended(false) || other.Ended(false) {
		t.Error("the last task of a function that is forgotten is another one")
	}
}

// Classes that ask for the same exchange leases, unless their leases differ or end with their workers.
func TestKeys_TellClassesAndShapesApart(t *testing.T) {
	base := func() *Template[class] {
		return &Template[class]{FID: []byte("f"), Resources: map[string]int64{"CPU": 1, "GPU": 2}, EnvKey: "e", Strategy: "s"}
	}
	for _, x := range []struct {
		what           string
		change         func(*Template[class])
		class, shape   bool // whether the key is the same
		exchangesNever bool
	}{
		{"nothing", func(*Template[class]) {}, true, true, false},
		{"the name", func(y *Template[class]) { y.Name = "other" }, true, true, false},
		{"the function", func(y *Template[class]) { y.FID = []byte("g") }, false, true, false},
		{"an amount", func(y *Template[class]) { y.Resources["GPU"] = 3 }, false, false, false},
		{"the environment", func(y *Template[class]) { y.EnvKey = "x" }, false, false, false},
		{"the strategy", func(y *Template[class]) { y.Strategy = "x" }, false, false, false},
		{"enforced memory", func(y *Template[class]) { y.Enforce = true }, false, false, false},
		{"the node of its large arguments", func(y *Template[class]) { y.Near = 2 }, false, true, false},
		{"workers that end", func(y *Template[class]) { y.MaxCalls = 1 }, false, false, true},
		{"an alternative", func(y *Template[class]) { y.Fallback = []*Template[class]{{}} }, false, false, true},
		{"a wait for the first choice", func(y *Template[class]) { y.AfterMs = 1 }, false, false, true},
	} {
		y := base()
		x.change(y)
		if (y.ClassKey() == base().ClassKey()) != x.class || (y.ShapeKey() == base().ShapeKey()) != x.shape || (y.ShapeKey() == "") != x.exchangesNever {
			t.Errorf("%s: class %q, shape %q", x.what, y.ClassKey(), y.ShapeKey())
		}
	}
}

// A worker gets a function with the first of its templates, and again when it has forgotten all of them.
func TestKnown_FunctionOfTwoTemplates_IsSentOnce(t *testing.T) {
	var k Known
	if k.Has(1) || k.Remove(1, []byte("f")) {
		t.Error("a worker that was told nothing has a template")
	}
	if !k.Add(1, []byte("f")) || k.Add(2, []byte("f")) || !k.Add(3, []byte("g")) || k.Add(4, nil) {
		t.Error("a function is sent twice, or never")
	}
	if !k.Has(1) || !k.Has(4) || !k.Remove(1, []byte("f")) || k.Has(1) || k.Remove(1, []byte("f")) || !k.Remove(4, nil) {
		t.Error("a template is forgotten twice, or never")
	}
	if k.Add(1, []byte("f")) {
		t.Error("the function is still there with the second template")
	}
	k.Remove(1, []byte("f"))
	k.Remove(2, []byte("f"))
	if !k.Add(5, []byte("f")) || k.Add(6, []byte("g")) {
		t.Error("the function was forgotten with its last template")
	}
}
