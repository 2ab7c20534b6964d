package arguments

import (
	"slices"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/snapshot"
	"github.com/eagleray/eagleray/core/internal/wire"
)

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
func (silent) Borrow(*refs.Object)                  {}
func (silent) GiveBack(*refs.Object)                {}

// actor plays an actor, of which an object is the token.
type actor struct{}

func (actor) IsActor() bool { return true }

func newTable() *refs.Table { return refs.NewTable(ids.Owner{1}, ids.JobOf(1), "/own", silent{}) }

// objects makes four objects of ours, each pinned once, and arguments of them: one by reference and the large one, two inside.
func objects(table *refs.Table) (Arguments, []*refs.Object) {
	var list []*refs.Object
	for range 4 {
		o := table.New(1, 0)
		table.PutStored(o, 10, false)
		table.Pin(o)
		list = append(list, o)
	}
	return Of([]byte("x"), list[1], slices.Clone(list[:1]), slices.Clone(list[2:])), list
}

func TestUnpin_NothingIsLeft(t *testing.T) {
	for _, forget := range []bool{false, true} {
		table := newTable()
		a, list := objects(table)
		a.Unpin(table, forget)
		for i, o := range list {
			if table.Find(o.ID) != nil {
				t.Errorf("forgotten %v: object %d is left with %d pins", forget, i, o.Pins())
			}
		}
		if kept := a.Holds() && a.inline != nil; kept == forget {
			t.Errorf("forgotten %v: the arguments are kept: %v", forget, kept)
		}
	}
}

// A run that is made again takes the same, pinned once more. The token of an actor that has ended is left out, and what others own is borrowed again.
func TestAgain_TakesTheSame(t *testing.T) {
	table := newTable()
	a, list := objects(table)
	token, theirs := known(99, refs.Facts{}), known(7, refs.Facts{OwnerAddr: "/theirs"})
	a.AddNested(token)
	a.AddDependency(theirs)
	b := a.Again(table)
	for i, o := range list {
		if o.Pins() != 2 {
			t.Errorf("object %d has %d pins, want 2", i, o.Pins())
		}
	}
	back := b.At(2)
	if b.At(0) != list[1] || b.At(1) != list[0] || back == nil || back == theirs || back.ID != theirs.ID || back.Pins() != 1 || table.Find(theirs.ID) != back || !slices.Equal(b.nested, list[2:]) || string(b.inline) != "x" {
		t.Errorf("it takes %+v", b)
	}
}

// The lineage of a result has the objects of ours, but no actors: these live as long as there are handles.
func TestOwned_NeitherBorrowedNorTokensNorGone(t *testing.T) {
	table := newTable()
	a, list := objects(table)
	token := table.New(0, 1)
	table.MakeToken(token, actor{})
	a.AddDependency(token)
	a.AddDependency(known(7, refs.Facts{OwnerAddr: "/theirs"}))
	a.AddNested(known(77, refs.Facts{}))
	if got, want := a.Owned(table), []*refs.Object{list[0], list[2], list[3], list[1]}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if n, more := a.LineageBytes(), a; true {
		more.AddNested(token)
		if more.LineageBytes() != n+needBytes {
			t.Errorf("one more takes %d bytes", more.LineageBytes()-n)
		}
	}
}

// A worker reads where each argument is: beside the call while there is room, in a store, or at its owner.
func TestAppend_WhereEachArgumentIs(t *testing.T) {
	table := newTable()
	small := known(1, refs.Facts{State: refs.Inline, Value: []byte("v")})
	large := known(2, refs.Facts{State: refs.Inline, Value: make([]byte, frame.MaxInFrame), OwnerAddr: "/theirs"})
	stored := known(3, refs.Facts{State: refs.Stored, Size: 50})
	raised := known(4, refs.Facts{State: refs.Inline, Value: []byte("e"), IsError: true})
	a := Of([]byte("args"), nil, []*refs.Object{small, raised, large, stored}, nil)
	describe := func(b []byte) string {
		head := wire.AppendUint(wire.AppendUint(wire.AppendUint(nil, 1), 2), 3) // of the frame: what is before the arguments
		r := wire.NewReader(append(head, b...))
		x, err := frame.ReadTask(&r, 6)
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		for _, p := range append([]frame.Place{x.Args}, x.Deps...) {
			switch {
			case p.Envelope != nil:
				words = append(words, "here")
			case p.Size == 0:
				words = append(words, "owner")
			default:
				words = append(words, "store")
			}
		}
		return strings.Join(words, " ")
	}
	if got, want := describe(a.AppendTask(nil, table)), "here here here owner store"; got != want {
		t.Errorf("a task: %s, want %s", got, want)
	}
	if got, want := describe(a.AppendRegistration(nil, table)), "here here owner owner store"; got != want {
		t.Errorf("a registration: %s, want %s", got, want)
	}
	a.SetStoredArguments(stored)
	if got := describe(a.AppendTask(nil, table)); !strings.HasPrefix(got, "store ") {
		t.Errorf("large arguments: %s", got)
	}
}

// What is written down comes back, pinned. What a finished task took need not be in the table.
func TestRestore_ThereAndBack(t *testing.T) {
	table := newTable()
	a, list := objects(table)
	var x snapshot.Task
	a.Write(&x)
	b, err := Restore(&x, table)
	if err != nil || b.At(0) != a.At(0) || !slices.Equal(b.Objects(), a.Objects()) || string(b.inline) != "x" {
		t.Fatalf("%+v, %v", b, err)
	}
	for i, o := range list {
		if o.Pins() != 2 {
			t.Errorf("object %d has %d pins, want 2", i, o.Pins())
		}
	}
	gone := known(99, refs.Facts{OwnerAddr: "/theirs"})
	a.AddDependency(gone)
	r := snapshot.Recipe{Task: x}
	a.WriteFinished(&r)
	c, err := RestoreFinished(&r, table)
	if err != nil || c.At(0) != list[1] || c.At(1) != list[0] || c.At(2).ID != gone.ID || c.At(2).OwnerAddr() != "/theirs" || r.Task.Deps != nil || r.Task.Nested != nil || list[0].Pins() != 2 {
		t.Errorf("of a finished task %+v, %v", c, err)
	}
	id := gone.ID[:]
	for what, x := range map[string]snapshot.Task{"an argument": {Deps: [][]byte{id}}, "one inside": {Nested: [][]byte{id}}, "large arguments": {ArgsRef: id}, "no id": {Deps: [][]byte{{1}}}} {
		if _, err := Restore(&x, table); err == nil {
			t.Errorf("%s that the table does not have is restored", what)
		}
	}
	for what, r := range map[string]snapshot.Recipe{"large arguments": {Task: snapshot.Task{ArgsRef: id}}, "no id": {Deps: []snapshot.Ref{{}}}, "no id inside": {Nested: []snapshot.Ref{{}}}} {
		if _, err := RestoreFinished(&r, table); err == nil {
			t.Errorf("a finished task with %s is restored", what)
		}
	}
}
