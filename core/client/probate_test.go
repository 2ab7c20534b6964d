package client

import (
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

// soundWill is a will with something of everything, that an heir takes.
func soundWill() *will {
	a, b := ids.NewObject(1, ids.Owner{1}, ids.Job{}, 0), ids.NewObject(2, ids.Owner{1}, ids.Job{}, 0)
	actor, owner := make([]byte, ids.ActorSize), make([]byte, ids.OwnerSize)
	return &will{
		Objects:   []willObject{{ID: a[:], State: refs.Failed, Fault: &wire.FaultBody{}}, {ID: b[:], State: refs.Infeasible, Fault: &wire.FaultBody{}}},
		Templates: []Template{{Kind: KindTask, Fallback: []*Template{{}}}, {Kind: KindMethod}},
		Tasks:     []willTask{{Returns: 1}, {Template: 1}, {}, {Template: 1}, {Template: 1, Aside: actor}},
		Actors:    []willActor{{ID: actor, Calls: []int{1}, Birth: &willBirth{Template: Template{Kind: KindTask}}}},
		Serving:   []willServing{{Owner: owner}},
		Held:      []willHeld{{Caller: owner}},
		Conns:     []willConn{{Tasks: []int{0}}, {ActorID: actor, Tasks: []int{3}}},
	}
}

// An heir runs in the daemon's process, so it refuses a will that makes no sense, and says what of it does not.
func TestReadWill_Nonsense_IsRefused(t *testing.T) {
	read := func(change func(*will)) error {
		t.Helper()
		w := soundWill()
		change(w)
		body, err := msgpack.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		got, err := readWill(body)
		if (got == nil) != (err != nil) {
			t.Errorf("%v, %v", got, err)
		}
		return err
	}
	for words, change := range map[string]func(*will){
		"object":                                func(w *will) { w.Objects[0].ID = []byte("x") },
		"is handed over twice":                  func(w *will) { w.Objects[1].ID = w.Objects[0].ID },
		"which does not exist":                  func(w *will) { w.Objects[0].State = refs.Failed + 1 },
		"has failed for no reason":              func(w *will) { w.Objects[0].Fault = nil },
		"failed for no reason":                  func(w *will) { w.Objects[1].Fault = nil },
		"a task with -1 results":                func(w *will) { w.Tasks[2].Returns = -1 },
		"and 16777217 items":                    func(w *will) { w.Tasks[2].Items = maxHandedOver + 1 },
		"tasks with more than 16777216 results": func(w *will) { w.Tasks[2].Items = maxHandedOver },
		"a task with -2 results":                func(w *will) { w.Actors[0].Birth.Task.Returns = -2 },
		"an actor's id of 1 bytes":              func(w *will) { w.Actors[0].ID = []byte("x") },
		"a borrower's id of 2 bytes":            func(w *will) { w.Serving[0].Owner = []byte("xx") },
		"a caller's id of 3 bytes":              func(w *will) { w.Held[0].Caller = []byte("xxx") },
		"of an actor with an id of 4 bytes is":  func(w *will) { w.Conns[1].ActorID = []byte("xxxx") },
		"a template of kind 9":                  func(w *will) { w.Templates[0].Kind = 9 },
		"template 0 is handed over with an alternative that is none": func(w *will) { w.Templates[0].Fallback[0] = nil },
		"task 5, of 5, is handed over":                               func(w *will) { w.Conns[0].Tasks = []int{5} },
		"task -1, of 5, is handed over":                              func(w *will) { w.Actors[0].Calls = []int{-1} },
		"task 1 is handed over at two places":                        func(w *will) { w.Conns[1].Tasks = []int{1} },
		"handed over twice": func(w *will) {
			w.Actors = append(w.Actors, willActor{ID: w.Actors[0].ID})
		},
		"a constructor with a template of kind":                                func(w *will) { w.Actors[0].Birth.Template.Kind = KindMethod },
		"a task of template 2, of 2, is handed over":                           func(w *will) { w.Tasks[2].Template = 2 },
		"a task of template -1, of 2, is handed over":                          func(w *will) { w.Tasks[2].Template = -1 },
		"task 2 is handed over as another kind of task than its template says": func(w *will) { w.Tasks[2].Template = 1 },
		"task 3 is handed over as another kind of task than its template says": func(w *will) { w.Tasks[3].Template = 0 },
		"a call of an actor with an id of 5 bytes":                             func(w *will) { w.Tasks[4].Aside = []byte("xxxxx") },
	} {
		err := read(change)
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v", words, err)
		}
	}
	for what, change := range map[string]func(*will){
		"all is well":        func(*will) {},
		"many items":         func(w *will) { w.Tasks[2].Items = maxHandedOver - 1 },
		"a state of the end": func(w *will) { w.Objects[0].State = refs.Inline },
		"no constructor":     func(w *will) { w.Actors[0].Birth = nil },
	} {
		if err := read(change); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := readWill([]byte("\xc1")); err == nil {
		t.Error("what is no message is a will")
	}
}

// A finished task that is kept for its results comes back as it was; one that
// names what there is not is refused.
func TestHeir_Kept_TasksOfRecipes(t *testing.T) {
	c := startDaemon(t).driver()
	c.mu.Lock()
	defer c.mu.Unlock()
	running := &task{}
	h := &heir{c: c, w: soundWill(), tasks: []*task{running}}
	h.w.Templates[1].Flow.Mode = FlowStream
	args := ids.NewObject(70, c.self, c.info.Job, 0)
	c.table.Install(refs.Known(args, refs.Facts{State: refs.Stored}))
	elsewhere := ids.NewObject(71, ids.Owner{9}, c.info.Job, 0)
	ref := []willRef{{ID: elsewhere[:], Addr: "there"}}
	got, err := h.kept(&willRecipe{Again: -1, Actor: make([]byte, ids.ActorSize), Deps: ref, Nested: append(ref, willRef{ID: args[:]}),
		Task: willTask{Template: 1, First: 5, Returns: 2, Tries: 3, Fmt: 4, Args: []byte("a"), ArgsRef: args[:], Items: 6}})
	if err != nil {
		t.Fatal(err)
	}
	if got.tmpl != &h.w.Templates[1] || got.first != 5 || got.returns != 2 || got.tries != 3 || got.fmt != 4 || string(got.args) != "a" || got.argsRef.ID != args {
		t.Errorf("%+v", got)
	}
	if s := got.stream; s == nil || s.gen != 5 || s.got != 6 || !s.left {
		t.Errorf("its generator: %+v", s)
	}
	if a := got.actor; a == nil || a.id != (ids.Actor{}) || a.dead == nil {
		t.Errorf("its actor, of which nobody has a handle: %+v", a)
	}
	if len(got.deps) != 1 || got.deps[0].ID != elsewhere || got.deps[0].OwnerAddr() != "there" || len(got.nested) != 2 || got.nested[1] != got.argsRef {
		t.Errorf("it takes %+v and %+v", got.deps, got.nested)
	}
	if again, err := h.kept(&willRecipe{Again: 0}); err != nil || again != running {
		t.Errorf("one that runs again: %+v, %v", again, err)
	}
	if plain, err := h.kept(&willRecipe{Again: -1}); err != nil || plain.stream != nil || plain.actor != nil || plain.argsRef != nil {
		t.Errorf("a plain one: %+v, %v", plain, err)
	}
	there := &actor{id: ids.Actor{8}}
	c.actors[there.id] = there
	defer delete(c.actors, there.id)
	if x, err := h.kept(&willRecipe{Again: -1, Actor: there.id[:]}); err != nil || x.actor != there {
		t.Errorf("of an actor that was handed over: %+v, %v", x, err)
	}
	unknown := ids.NewObject(99, c.self, c.info.Job, 0)
	for what, x := range map[string]willRecipe{
		"task 1, of 1":                  {Again: 1},
		"of template 2, of 2":           {Again: -1, Task: willTask{Template: 2}},
		"of template -1, of 2":          {Again: -1, Task: willTask{Template: -1}},
		"an argument without an id":     {Again: -1, Deps: []willRef{{}}},
		"a nested object without an id": {Again: -1, Nested: []willRef{{}}},
		"unknown arguments":             {Again: -1, Task: willTask{ArgsRef: unknown[:]}},
	} {
		if _, err := h.kept(&x); err == nil || strings.Contains(what, "of ") && !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
