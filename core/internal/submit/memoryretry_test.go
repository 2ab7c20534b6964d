package submit

import (
	"testing"

	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/templates"
)

const mib = int64(1<<20) * int64(resource.Unit)

// A retry asks for twice as much, in a class of its own, until there is no more.
func TestEnlarge_UpToWhatTheNodeHas(t *testing.T) {
	c := newQuiet(t)
	c.Totals.Resources = map[string]int64{templates.MemoryName: 1000 * mib}
	tm := &Template{Name: "f", FID: []byte("0123456789abcdef"), Resources: map[string]int64{"CPU": 1, templates.MemoryName: 300 * mib},
		MoreMemory: true, Fallback: []*Template{{Resources: map[string]int64{"CPU": 1}}, {Resources: map[string]int64{templates.MemoryName: 900 * mib}}}}
	c.addTemplate(tm)
	a, b := &Task{Template: tm}, &Task{Template: tm}
	for _, want := range []int64{600, 1000} {
		if !c.Enlarge(a, 5) || a.Template.Resources[templates.MemoryName] != want*mib || a.Template.Resources["CPU"] != 1 {
			t.Fatalf("it asks for %v, want memory %d", a.Template.Resources, want*mib)
		}
		if got := a.Template.Fallback[0].Resources[templates.MemoryName]; got != want*mib {
			t.Errorf("its first alternative asks for %d", got)
		}
	}
	if got := a.Template.Fallback[1].Resources[templates.MemoryName]; got != 1000*mib {
		t.Errorf("its second alternative asks for %d", got)
	}
	if c.Enlarge(a, 5) {
		t.Error("it asks for more than the node has")
	}
	if !c.Enlarge(b, 5) || b.Template != tm.Larger {
		t.Error("two tasks that ask for the same do not share a template")
	}
	if tm.Resources[templates.MemoryName] != 300*mib || tm.Class == b.Template.Class || b.Template.Class == a.Template.Class {
		t.Error("the templates are not apart")
	}
	// What was not stated differs from task to task.
	free := &Template{Name: "g", FID: []byte("0123456789abcdeg"), Resources: map[string]int64{"CPU": 1}, MoreMemory: true}
	c.addTemplate(free)
	x, y, z := &Task{Template: free}, &Task{Template: free}, &Task{Template: free}
	if !c.Enlarge(x, 60<<20) || !c.Enlarge(y, 200<<20) || !c.Enlarge(z, 201<<20) {
		t.Fatal("they may not ask for more")
	}
	if x.Template.Resources[templates.MemoryName] != 128*mib || y.Template.Resources[templates.MemoryName] != 512*mib || z.Template != y.Template {
		t.Errorf("they ask for %v, %v, %v", x.Template.Resources, y.Template.Resources, z.Template.Resources)
	}
}
