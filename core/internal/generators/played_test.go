package generators

import (
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wait"
)

// call plays the task or call that yields.
type call struct{ name string }

func (*call) IsActor() bool        { return false }
func (*call) LineageBytes() uint64 { return 1 }

// silent is what the table of objects asks of its session. Nobody hears it. What it
// does not have is not asked for in these tests.
type silent struct{ refs.Effects }

func (silent) SourceGone(refs.Source, *refs.Object) {}
func (silent) RecipeGone(refs.Task)                 {}
func (silent) Free([][]byte)                        {}
func (silent) CopyLost(ids.Object)                  {}
func (silent) DropCopy(*refs.Object) bool           { return false }
func (silent) Unseen(*refs.Object)                  {}
func (silent) Needed()                              {}
func (silent) Wake(*wait.Wait)                      {}

// newTable returns the generators of a process that has nothing yet.
func newTable() (*Table, *refs.Table) {
	self, job := ids.Owner{1}, ids.JobOf(1)
	objects := refs.NewTable(self, job, "/own", silent{})
	x := new(Table)
	x.Join(self, job, objects)
	return x, objects
}

// called has the program call a generator. It returns the generator's own object, which the program holds.
func called(x *Table, objects *refs.Table, mode int) (*Generator, *refs.Object) {
	own := objects.New(1, 1)
	k := &call{"first"}
	own.SetSource(k)
	return x.New(k, own.ID.Count(), mode), own
}

// yields has the next items of a run come, each with its number as the value.
func yields(x *Table, objects *refs.Table, g *Generator, n int) {
	for range n {
		i := g.Got()
		x.Comes(g, i)
		if o := x.item(g, i); o != nil {
			objects.Complete(o, refs.Inline, []byte{byte(i)}, 1, false)
		}
		g.Came(i)
	}
}

// take takes the next item, which has come, and returns its number.
func take(t *testing.T, x *Table, objects *refs.Table, own *refs.Object) int {
	t.Helper()
	_, id, st, err := x.Take(own.ID)
	if err != nil || st != Item {
		t.Fatalf("the generator is in state %d, %v; want an item", st, err)
	}
	return int(objects.Find(id).Value()[0])
}

// lose has the store lose items, which a second run is to make. It returns that run.
func lose(x *Table, g *Generator, name string, items ...uint64) *Generator {
	k := &call{name}
	second := Again(k, g)
	for _, i := range items {
		o := x.item(g, i)
		o.Restore(refs.Facts{State: refs.Pending})
		o.SetSource(k)
	}
	return second
}

// codeOf is what an item failed with.
func codeOf(o *refs.Object) fault.Code {
	if o == nil || o.State() != refs.Failed {
		return ""
	}
	return o.Fault().Code
}

var stream = frame.FlowStream
