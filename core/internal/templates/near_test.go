package templates

import (
	"testing"

	"github.com/eagleray/eagleray/core/internal/frame"
)

func TestApproach_OneTemplateForEachNode(t *testing.T) {
	var x Table[class]
	f := function("f")
	x.AddTemplate(f, maker)
	f.Submitted()
	if f.NearTo(0) != f || f.NearTo(2) != nil {
		t.Fatal("a template is there before it is made")
	}
	second := f.Approach(2)
	x.AddTemplate(second, maker)
	third := second.Approach(3)
	x.AddTemplate(third, maker)
	if second.Near != 2 || second.Open != 0 || second.ID == f.ID || string(second.Blob) != "code of f" || second.ClassKey() == f.ClassKey() || second.ShapeKey() != f.ShapeKey() {
		t.Errorf("near node 2 it is %+v", second)
	}
	for _, y := range []*Template[class]{f, second, third} {
		if y.NearTo(0) != f || y.NearTo(2) != second || y.NearTo(3) != third || y.NearTo(4) != nil {
			t.Errorf("from the template for node %d the others are not found", y.Near)
		}
	}
	if list := x.Nears(2); len(list) != 1 || list[0] != second {
		t.Errorf("near node 2 there are %v", list)
	}
	second.Retire()
	if x.RemoveTemplate(second); f.NearTo(2) != nil || f.NearTo(3) != third {
		t.Error("the node has gone, and its template is there, or another one went, too")
	}
	f.Larger = f.WithMemory(5)
	if got := x.RemoveTemplate(f); len(got) != 2 || got[1] != third || !third.Retired() {
		t.Errorf("with the function go %v", got)
	}
	if third.NearTo(0) != third || third.NearTo(5) != third {
		t.Error("the function is gone, and its tasks leave their template")
	}
}

func TestRoams_WhoLeavesTheNodeOpen(t *testing.T) {
	group := "group:" + "0123456789abcdef0123456789abcdef0123"
	for _, y := range []struct {
		what   string
		change func(*Template[class])
		want   bool
	}{
		{"a function", func(*Template[class]) {}, true},
		{"DEFAULT", func(y *Template[class]) { y.Strategy = "DEFAULT" }, true},
		{"labels", func(y *Template[class]) { y.Strategy = `DEFAULT labels:[[{"zone":"a"}]]` }, true},
		{"any bundle", func(y *Template[class]) { y.Strategy = group + ":-1" }, true},
		{"one bundle", func(y *Template[class]) { y.Strategy = group + ":1" }, false},
		{"SPREAD", func(y *Template[class]) { y.Strategy = "SPREAD" }, false},
		{"a node", func(y *Template[class]) {
			y.Strategy = "node:00000000000000000000000000000000000000000000000000000000:soft"
		}, false},
		{"an alternative", func(y *Template[class]) { y.Fallback = []*Template[class]{{Name: "small"}} }, false},
		{"a wait for the first choice", func(y *Template[class]) { y.AfterMs = 5 }, false},
		{"a method", func(y *Template[class]) { y.Kind = frame.KindMethod }, false},
		{"nonsense", func(y *Template[class]) { y.Strategy = "NEAR" }, false},
	} {
		f := function("f")
		y.change(f)
		var x Table[class]
		if x.AddTemplate(f, maker); f.Roams() != y.want {
			t.Errorf("%s: tasks may go to their arguments: %v", y.what, f.Roams())
		}
		s := f.Snapshot()
		back := Restored[class](&s)
		var z Table[class]
		if err := z.RestoreTemplate(back, maker); err != nil || back.Roams() != y.want {
			t.Errorf("%s: after a restore tasks may go to their arguments: %v, %v", y.what, back.Roams(), err)
		}
	}
}
