package submit

import (
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/arguments"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/snapshot"
)

// A finished task that is kept for its results comes back as it was; one that
// names what there is not is refused.
func TestRestore_Finished_TasksOfRecipes(t *testing.T) {
	h := restoring(t)
	c := h.c
	running := &Task{}
	h.tasks = []*Task{running}
	h.tms = []*Template{{Kind: frame.KindTask, Name: "f"}, {Kind: frame.KindMethod, Name: "A.m"}}
	h.tms[1].Flow.Mode = frame.FlowStream
	args := ids.NewObject(70, c.Self, c.Job, 0)
	c.table.Install(refs.Known(args, refs.Facts{State: refs.Stored}))
	elsewhere := ids.NewObject(71, ids.Owner{9}, c.Job, 0)
	ref := []snapshot.Ref{{ID: elsewhere[:], Addr: "there"}}
	got, err := h.finished(&snapshot.Recipe{Again: -1, Actor: make([]byte, ids.ActorSize), Deps: ref, Nested: append(ref, snapshot.Ref{ID: args[:]}),
		Task: snapshot.Task{Template: 1, First: 5, Returns: 2, Tries: 3, Format: 4, Args: []byte("a"), ArgsRef: args[:], Items: 6}})
	if err != nil {
		t.Fatal(err)
	}
	if got.Template != h.tms[1] || got.First != 5 || got.Returns != 2 || got.Tries != 3 || got.fmt != 4 || string(takes(got).Args) != "a" || got.At(0).ID != args {
		t.Errorf("%+v", got)
	}
	if s := got.Generator; s == nil || s.Got() != 6 || s.Task() != nil || !generatorField(s, "left").Bool() {
		t.Errorf("its generator: %+v", s)
	}
	if a := got.actor; a == nil || a.ID != (ids.Actor{}) || a.Dead() == nil {
		t.Errorf("its actor, of which nobody has a handle: %+v", a)
	}
	if len(got.Dependencies()) != 1 || got.At(1).ID != elsewhere || got.At(1).OwnerAddr() != "there" || len(got.Objects()) != 4 || got.Objects()[2] != got.At(0) {
		t.Errorf("it takes %+v and %+v", got.Dependencies(), got.Objects())
	}
	if again, err := h.finished(&snapshot.Recipe{Again: 0}); err != nil || again != running {
		t.Errorf("one that runs again: %+v, %v", again, err)
	}
	if plain, err := h.finished(&snapshot.Recipe{Again: -1}); err != nil || plain.Generator != nil || plain.actor != nil || plain.At(0) != nil {
		t.Errorf("a plain one: %+v, %v", plain, err)
	}
	there := c.addActor(ids.Actor{8}, "A", 0)
	defer delete(c.Actors, there.ID)
	if x, err := h.finished(&snapshot.Recipe{Again: -1, Actor: there.ID[:]}); err != nil || x.actor != there {
		t.Errorf("of an actor that was handed over: %+v, %v", x, err)
	}
	unknown := ids.NewObject(99, c.Self, c.Job, 0)
	for what, x := range map[string]snapshot.Recipe{
		"an argument without an id":     {Again: -1, Deps: []snapshot.Ref{{}}},
		"a nested object without an id": {Again: -1, Nested: []snapshot.Ref{{}}},
		"unknown arguments":             {Again: -1, Task: snapshot.Task{ArgsRef: unknown[:]}},
	} {
		if _, err := h.finished(&x); err == nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Finished tasks arrive as they were: a task's, with what it took even when nobody holds that any more, an
// actor's call, and a generator, of which so many items have come. The oldest is the first to be forgotten.
func TestRecipes_HandedOver_AreAsTheyWere(t *testing.T) {
	x := captured(t)
	x.tmpl.MaxRetries, x.meth.MaxRetries = 3, 3
	stored := func() *refs.Object {
		o := x.table.New(1, 1)
		x.table.PutStored(o, 9, false)
		return o
	}
	keeps := func(k *Task) *refs.Object {
		o := stored()
		k.First, k.Returns = o.ID.Count(), 1
		x.table.Record(x.recipe(k), []*refs.Object{o})
		return o
	}
	dep, nested, ref := stored(), stored(), stored()
	gone := refs.Known(ids.NewObject(4, ids.Owner{9}, x.Job, 1), refs.Facts{OwnerAddr: "its owner"})
	plain := keeps(&Task{Template: x.tmpl, fmt: 2, Arguments: arguments.Of([]byte("args"), ref, []*refs.Object{dep, gone}, []*refs.Object{nested})})
	served, left := x.addActor(ids.Actor{5}, "served", 0), unknownActor(&x.Submitter, 6)
	served.Pending = 1
	call := keeps(&Task{Template: x.meth, actor: served})
	other := keeps(&Task{Template: x.meth, actor: left})
	gen := &Template{Kind: frame.KindTask, Name: "gen", FID: []byte("gggggggggggggggg"), MaxRetries: 3, Flow: frame.Flow{Mode: frame.FlowStream}}
	x.addTemplate(gen)
	items := keeps(&Task{Template: gen, Generator: generatorWith("got", 8)})
	busy := &Task{Template: x.tmpl, counted: true, Arguments: arguments.Of([]byte("again"), nil, nil, nil)}
	again := keeps(busy)
	alter(again, func(f *refs.Facts) { f.State = refs.Pending })
	again.SetSource(busy)
	x.table.Begin(again.Recipe(), busy)
	push(&x.tmpl.Class.Queue, busy)

	w, _ := x.Snapshot()
	if len(w.Recipes) != 5 || len(w.Tasks) != 1 {
		t.Fatalf("%d finished tasks and %d others are written down", len(w.Recipes), len(w.Tasks))
	}
	for i, r := range w.Recipes {
		if (r.Again == 0) != (i == 4) || (r.Again == -1) != (i < 4) || len(r.Results) != 1 || r.Task.Deps != nil || r.Task.Nested != nil || i < 4 && r.Task.Place != snapshot.PlaceSent {
			t.Errorf("finished task %d: %+v", i, r)
		}
	}
	_, h := successorOf(t, x.process)
	c := h.c
	of := func(o *refs.Object) *Task {
		t.Helper()
		y := c.table.Find(o.ID)
		if y == nil || !y.Recomputable() {
			t.Fatalf("%s cannot be computed again", o.ID)
		}
		if k := TaskOf(y.Recipe().Task()); k.recipe == y.Recipe() {
			return k
		}
		t.Fatalf("the task of %s has another recipe", o.ID)
		return nil
	}
	k := of(plain)
	if k.Template.Name != "f" || k.First != plain.ID.Count() || k.Returns != 1 || k.fmt != 2 || string(takes(k).Args) != "args" || k.At(0) != c.table.Find(ref.ID) || k.actor != nil || k.Generator != nil {
		t.Errorf("the task: %+v", k)
	}
	if len(k.Dependencies()) != 2 || k.At(1) != c.table.Find(dep.ID) || k.At(2).ID != gone.ID || k.At(2).OwnerAddr() != "its owner" || c.table.Find(gone.ID) != nil || len(k.Objects()) != 4 || k.Objects()[2] != c.table.Find(nested.ID) {
		t.Errorf("it takes %v and %v", k.Dependencies(), k.Objects())
	}
	if n := k.recipe.Needs(); !slices.Equal(n, []*refs.Object{k.At(1), k.Objects()[2], k.At(0)}) {
		t.Errorf("it needs %d objects", len(n))
	}
	for _, y := range k.recipe.Needs() {
		if y.Lineage() != 1 {
			t.Errorf("%s is needed by %d tasks", y.ID, y.Lineage())
		}
	}
	if a := of(call).actor; a != c.Actors[served.ID] {
		t.Errorf("the call is of %+v", a)
	}
	if a := of(other).actor; a == nil || a.ID != left.ID || a.Dead() == nil {
		t.Errorf("the call of an actor that nobody has is of %+v", a)
	}
	if s := of(items).Generator; s == nil || s.Got() != 8 || c.Generators.ItemID(s, 0).Count() != items.ID.Count()+1 || !generatorField(s, "left").Bool() {
		t.Errorf("the generator: %+v", s)
	}
	if k := of(again); k != h.tasks[0] || !k.recipe.Running() {
		t.Errorf("the task that runs again: %+v", k)
	}
	var order []*Task
	c.table.Recipes(func(r *refs.Recipe) { order = append(order, TaskOf(r.Task())) })
	if !slices.Equal(order, []*Task{of(plain), of(call), of(other), of(items)}) {
		t.Errorf("%d may be forgotten, or in another order", len(order))
	}
}

// A finished task of the snapshot that names an object which the table does not have is refused.
func TestRecipes_OfWhatWasNotHandedOver_AreRefused(t *testing.T) {
	h := restoring(t)
	h.tms = []*Template{{Kind: frame.KindTask, Name: "f"}}
	o := h.c.table.New(1, 1)
	none := ownedBy(h.c, 99)
	for what, r := range map[string]snapshot.Recipe{
		"a result":                         {Again: -1, Results: [][]byte{none[:]}},
		"large arguments":                  {Again: -1, Task: snapshot.Task{ArgsRef: none[:]}},
		"an argument that is no object":    {Again: -1, Deps: []snapshot.Ref{{ID: []byte("x")}}},
		"a reference that is no object":    {Again: -1, Nested: []snapshot.Ref{{ID: []byte("x")}}},
		"large arguments that are nothing": {Again: -1, Task: snapshot.Task{ArgsRef: []byte("x")}},
	} {
		h.s.Recipes = []snapshot.Recipe{r}
		if err := h.recipes(); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	h.s.Recipes = []snapshot.Recipe{{Again: -1, Results: [][]byte{o.ID[:]}}}
	if err := h.recipes(); err != nil || !o.Recomputable() {
		t.Errorf("what was handed over: %v", err)
	}
}
