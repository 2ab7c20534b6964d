package client

import (
	"slices"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

// A worker that moves hands its finished tasks over: the heir computes a lost result again, with what the task took.
func TestMove_ResultIsLostAfterwards_TheHeirComputesItAgain(t *testing.T) {
	d := startDaemon(t)
	d.heirs()
	var m made
	worker := d.makes(&m)
	owner, friend := d.member(t, wire.RoleWorker), d.member(t, wire.RoleDriver)
	f, g := tasks(t, owner.c, "f", 1, 3), tasks(t, owner.c, "g", 2, 3)
	put := owner.put(t, "put")
	text := strings.Repeat("x", MaxInline) // goes to the store, as an object of its own
	a := results(t, owner.c, f, 1, text, put)[0]
	list := results(t, owner.c, g, 2, "y", a)
	owner.refs[a], owner.refs[list[0]], owner.refs[list[1]] = 1, 1, 1
	once := results(t, owner.c, tasks(t, owner.c, "h", 1, 0), 1, "z")[0]
	for _, id := range append(list, once) {
		owner.give(t, id, friend)
	}
	if err := owner.c.Exiting("test"); err != nil {
		t.Fatal(err)
	}
	owner.vanish()
	worker.unpinUnused() // it has looked at what it took
	d.loses(a, list[0], once)
	friend.check(t, list[0], "g0.2,y,f0.2,"+text[:9])
	if got := m.ran(); got != "f g h f g" {
		t.Errorf("ran %q", got)
	}
	friend.check(t, list[1], "g1.1,y,f0.1,"+text[:9])
	if f, err := friend.c.Get(once, testLimit); err != nil || !f.IsError || !strings.Contains(string(f.Envelope), "without retries") {
		t.Errorf("what cannot be computed again: %v, %v", f, err)
	}
	for _, id := range append(list, once) {
		friend.drop(id)
	}
	d.eventually("the heir ends", func() bool { return d.ended == 1 })
	friend.c.Close(0)
}

// A task that runs again for a lost result as its owner moves goes on for the heir.
func TestMove_TaskRunsAgainMeanwhile_TheHeirGetsItsResult(t *testing.T) {
	d := startDaemon(t)
	d.heirs()
	again, gate := make(chan struct{}, 1), make(chan struct{})
	runs := 0 // of the one worker's program
	d.worker(func(c *Client, it *Item) {
		if runs++; runs == 2 {
			again <- struct{}{}
			<-gate
		}
		_ = c.Reply(it.Token, []Value{large("run " + string(rune('0'+runs)))}, 0)
	})
	owner, friend := d.member(t, wire.RoleWorker), d.member(t, wire.RoleDriver)
	id := results(t, owner.c, tasks(t, owner.c, "f", 1, 1), 1, "x")[0]
	owner.refs[id] = 1
	owner.give(t, id, friend)
	d.loses(id)
	owner.c.mu.Lock()
	owner.c.missed(owner.c.table.Find(id))
	owner.c.carryOut()
	owner.c.mu.Unlock()
	<-again
	if err := owner.c.Exiting("test"); err != nil {
		t.Fatal(err)
	}
	owner.vanish()
	close(gate)
	friend.check(t, id, "run 2")
	friend.c.unpinUnused()
	d.loses(id) // it has used its one retry
	if f, err := friend.c.Get(id, testLimit); err != nil || !f.IsError || !strings.Contains(string(f.Envelope), "used all its retries") {
		t.Errorf("after the second loss: %v, %v", f, err)
	}
	friend.drop(id)
	d.eventually("the heir ends", func() bool { return d.ended == 1 })
	friend.c.Close(0)
}

// readsWill reads a will in another session, which has its parts afterwards; mu is held.
func readsWill(t *testing.T, w *will, of *testator) *heir {
	t.Helper()
	c := startDaemon(t).driver()
	c.mu.Lock()
	c.self = of.self
	c.table = refs.NewTable(of.self, of.info.Job, of.info.Addr, (*host)(c))
	c.table.SkipTo(w.Next)
	t.Cleanup(func() {
		clear(c.actors)
		c.table = c.newTable()
		c.mu.Unlock()
	})
	h := &heir{c: c, w: w}
	if err := h.objects(); err != nil {
		t.Fatal(err)
	}
	for i := range w.Templates {
		if err := c.inheritTemplate(&w.Templates[i]); err != nil {
			t.Fatal(err)
		}
	}
	for i := range w.Tasks {
		k, err := h.task(&w.Tasks[i], &w.Templates[w.Tasks[i].Template])
		if err != nil {
			t.Fatal(err)
		}
		h.tasks = append(h.tasks, k)
	}
	return h
}

// Finished tasks arrive as they were: a task's, with what it took even when nobody holds that any more, an
// actor's call, and a generator, of which so many items have come. The oldest is the first to be forgotten.
func TestRecipes_HandedOver_AreAsTheyWere(t *testing.T) {
	x := writesWill(t)
	x.tmpl.MaxRetries, x.meth.MaxRetries = 3, 3
	stored := func() *refs.Object {
		o := x.table.New(1, 1)
		x.table.PutStored(o, 9, false)
		return o
	}
	keeps := func(k *task) *refs.Object {
		o := stored()
		k.first, k.returns = o.ID.Count(), 1
		x.table.Record(x.recipe(k), []*refs.Object{o})
		return o
	}
	dep, nested, ref := stored(), stored(), stored()
	gone := refs.Known(ids.NewObject(4, ids.Owner{9}, x.info.Job, 1), refs.Facts{OwnerAddr: "its owner"})
	plain := keeps(&task{tmpl: x.tmpl, fmt: 2, args: []byte("args"), argsRef: ref, deps: []*refs.Object{dep, gone}, nested: []*refs.Object{nested}})
	served, left := &actor{id: ids.Actor{5}, name: "served", pending: 1}, &actor{id: ids.Actor{6}}
	x.actors[served.id] = served
	call := keeps(&task{tmpl: x.meth, actor: served})
	other := keeps(&task{tmpl: x.meth, actor: left})
	gen := &Template{Kind: KindTask, Name: "gen", FID: []byte("gggggggggggggggg"), MaxRetries: 3, Flow: Flow{Mode: FlowStream}}
	if err := x.addTemplate(gen); err != nil {
		t.Fatal(err)
	}
	items := keeps(&task{tmpl: gen, stream: &stream{got: 8}})
	busy := &task{tmpl: x.tmpl, counted: true, args: []byte("again")}
	again := keeps(busy)
	inState(again, refs.Pending)
	again.SetSource(busy)
	x.table.Begin(again.Recipe(), busy)
	x.tmpl.class.queue.push(busy)

	w, _ := x.will()
	if len(w.Recipes) != 5 || len(w.Tasks) != 1 {
		t.Fatalf("%d finished tasks and %d others are written down", len(w.Recipes), len(w.Tasks))
	}
	for i, r := range w.Recipes {
		if (r.Again == 0) != (i == 4) || (r.Again == -1) != (i < 4) || len(r.Results) != 1 || r.Task.Deps != nil || r.Task.Nested != nil || i < 4 && r.Task.Place != taskSent {
			t.Errorf("finished task %d: %+v", i, r)
		}
	}
	h := readsWill(t, w, x)
	c := h.c
	c.actors[served.id] = &actor{id: served.id, name: "served"}
	if err := h.recipes(); err != nil {
		t.Fatal(err)
	}
	of := func(o *refs.Object) *task {
		t.Helper()
		y := c.table.Find(o.ID)
		if y == nil || !y.Recomputable() {
			t.Fatalf("%s cannot be computed again", o.ID)
		}
		if k := taskOf(y.Recipe().Task()); k.recipe == y.Recipe() {
			return k
		}
		t.Fatalf("the task of %s has another recipe", o.ID)
		return nil
	}
	k := of(plain)
	if k.tmpl.Name != "f" || k.first != plain.ID.Count() || k.returns != 1 || k.fmt != 2 || string(k.args) != "args" || k.argsRef != c.table.Find(ref.ID) || k.actor != nil || k.stream != nil {
		t.Errorf("the task: %+v", k)
	}
	if len(k.deps) != 2 || k.deps[0] != c.table.Find(dep.ID) || k.deps[1].ID != gone.ID || k.deps[1].OwnerAddr() != "its owner" || c.table.Find(gone.ID) != nil || len(k.nested) != 1 || k.nested[0] != c.table.Find(nested.ID) {
		t.Errorf("it takes %v and %v", k.deps, k.nested)
	}
	if n := k.recipe.Needs(); !slices.Equal(n, []*refs.Object{k.deps[0], k.nested[0], k.argsRef}) {
		t.Errorf("it needs %d objects", len(n))
	}
	for _, y := range k.recipe.Needs() {
		if y.Lineage() != 1 {
			t.Errorf("%s is needed by %d tasks", y.ID, y.Lineage())
		}
	}
	if a := of(call).actor; a != c.actors[served.id] {
		t.Errorf("the call is of %+v", a)
	}
	if a := of(other).actor; a == nil || a.id != left.id || a.dead == nil {
		t.Errorf("the call of an actor that nobody has is of %+v", a)
	}
	if s := of(items).stream; s == nil || s.gen != items.ID.Count() || s.got != 8 || !s.left {
		t.Errorf("the generator: %+v", s)
	}
	if k := of(again); k != h.tasks[0] || !k.recipe.Running() {
		t.Errorf("the task that runs again: %+v", k)
	}
	var order []*task
	c.table.Recipes(func(r *refs.Recipe) { order = append(order, taskOf(r.Task())) })
	if !slices.Equal(order, []*task{of(plain), of(call), of(other), of(items)}) {
		t.Errorf("%d may be forgotten, or in another order", len(order))
	}
}

// An heir lives in the daemon's process: a will that names what it does not have is refused.
func TestRecipes_OfWhatWasNotHandedOver_AreRefused(t *testing.T) {
	x := writesWill(t)
	w, _ := x.will()
	h := readsWill(t, w, x)
	o := h.c.table.New(1, 1)
	none := ids.NewObject(99, x.self, x.info.Job, 1)
	for what, r := range map[string]willRecipe{
		"a task that runs again":           {Again: 0},
		"a template":                       {Again: -1, Task: willTask{Template: len(w.Templates)}},
		"a negative template":              {Again: -1, Task: willTask{Template: -1}},
		"a result":                         {Again: -1, Results: [][]byte{raw(none)}},
		"large arguments":                  {Again: -1, Task: willTask{ArgsRef: raw(none)}},
		"an argument that is no object":    {Again: -1, Deps: []willRef{{ID: []byte("x")}}},
		"a reference that is no object":    {Again: -1, Nested: []willRef{{ID: []byte("x")}}},
		"large arguments that are nothing": {Again: -1, Task: willTask{ArgsRef: []byte("x")}},
	} {
		w.Recipes = []willRecipe{r}
		if err := h.recipes(); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	w.Recipes = []willRecipe{{Again: -1, Results: [][]byte{raw(o.ID)}, Task: willTask{Template: len(w.Templates) - 1}}}
	if err := h.recipes(); err != nil || !o.Recomputable() {
		t.Errorf("what was handed over: %v", err)
	}
}
