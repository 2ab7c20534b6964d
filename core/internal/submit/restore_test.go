package submit

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/pace"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/snapshot"
)

// restoring returns what restores a snapshot, which a test makes up in parts, in a new process.
func restoring(t *testing.T) *Restored {
	t.Helper()
	p := newProcess(t)
	t.Cleanup(func() { clear(p.Leases) }) // nothing of it is real when the session ends
	return &Restored{c: &p.Submitter, s: new(snapshot.Submitter)}
}

func ownedBy(c *Submitter, n uint64) ids.Object { return ids.NewObject(n, c.Self, c.Job, 1) }

func rawOwned(c *Submitter, n uint64) []byte {
	id := ownedBy(c, n)
	return id[:]
}

// A task that waits for its arguments goes on waiting; one that was sent does
// not. What a task takes has to be there.
func TestRestore_Task_WaitsForWhatIsNotThere(t *testing.T) {
	h := restoring(t)
	c := h.c
	install := func(n uint64, state refs.State) ids.Object {
		id := ownedBy(c, n)
		c.table.Install(refs.Known(id, refs.Facts{State: state}))
		return id
	}
	there, pending, large := install(1, refs.Inline), install(2, refs.Pending), install(3, refs.Pending)
	result, done := install(10, refs.Pending), install(11, refs.Inline)
	x := snapshot.Task{First: 10, Returns: 2, Tries: 2, Format: 3, Seq: 4, Canceled: true, Args: []byte("a"), Misses: 5,
		Deps: [][]byte{there[:], pending[:]}, Nested: [][]byte{there[:]}, ArgsRef: large[:]}
	for place, waits := range map[snapshot.Place]int{snapshot.PlaceWaiting: 2, snapshot.PlaceSent: 0} {
		x.Place = place
		pins := c.table.Find(there).Pins()
		got, err := h.task(&x, &Template{})
		if err != nil {
			t.Fatal(err)
		}
		if int(got.Waiting) != waits || got.First != 10 || got.Returns != 2 || got.Tries != 2 || got.fmt != 3 || got.Seq != 4 || !got.Canceled || string(takes(got).Args) != "a" || got.Misses != 5 || got.aside {
			t.Errorf("place %d: %+v", place, got)
		}
		if n := c.table.Find(there).Pins() - pins; n != 2 || c.table.Find(large).Pins() == 0 {
			t.Errorf("place %d: an argument that is also inside another has %d pins more", place, n)
		}
		if c.table.Find(result).Source() != got || c.table.Find(done).Source() != nil {
			t.Errorf("place %d: the results do not know who makes them", place)
		}
	}
	unknown := ownedBy(c, 99)
	for what, y := range map[string]snapshot.Task{
		"an argument":      {Deps: [][]byte{unknown[:]}},
		"something inside": {Nested: [][]byte{unknown[:]}},
		"large arguments":  {ArgsRef: unknown[:]},
		"no id":            {Deps: [][]byte{[]byte("x")}},
	} {
		if got, err := h.task(&y, &Template{}); err == nil || got != nil {
			t.Errorf("%s that was not handed over: %+v, %v", what, got, err)
		}
	}
}

// Calls of an actor come back in their order: those that its dead process may
// have begun apart from those that wait. Its handles count.
func TestRestore_Actors_WithTheirCalls(t *testing.T) {
	h := restoring(t)
	c := h.c
	token := ownedBy(c, 1)
	c.table.Install(refs.Known(token, refs.Facts{State: refs.Inline}))
	id := ids.Actor{7}
	h.tasks = []*Task{{First: 100}, {First: 101}, {First: 102}}
	h.s.Tasks = []snapshot.Task{{}, {Place: snapshot.PlaceLost}, {}}
	h.s.Actors = []snapshot.Actor{{ID: id[:], Name: "A", Incarnation: 3, Limit: 9, Token: token[:], Calls: []int{1, 0, 2}, Broken: true, Number: 8,
		Creation: &snapshot.Creation{Template: snapshot.Template{Name: "constructor"}, Announce: true, Again: true}}}
	if err := h.actors(); err != nil {
		t.Fatal(err)
	}
	defer delete(c.Actors, id)
	a := c.Actors[id]
	var queued []uint64
	a.Queue.Each(func(t *Task) { queued = append(queued, t.First) })
	if a.Name() != "A" || actorField(a, "incarnation").Uint() != 3 || a.limit != 9 || a.Pending != 3 || len(a.Sent) != 1 || a.Sent[0].First != 101 || len(queued) != 2 || queued[0] != 100 || queued[1] != 102 {
		t.Errorf("%+v, queued %v", a, queued)
	}
	o := c.table.Find(token)
	if a.Token() != o || o.Source() != a || o.Pins() != 3 || !actorField(a, "broken").Bool() || actorField(a, "conn").Uint() != 8 {
		t.Errorf("its token has %d pins, %+v", o.Pins(), a)
	}
	k, announced := a.Creation()
	x, _ := a.Snapshot()
	if k == nil || k.(*constructor).template.Name != "constructor" || !announced || !x.Creation.Again || k.(*constructor).task == nil {
		t.Errorf("its constructor: %+v", k)
	}
	c.table.EndToken(o)
	for words, x := range map[string]snapshot.Actor{
		"was not handed over": {ID: id[:], Token: rawOwned(c, 99)},
		"98":                  {ID: id[:], Creation: &snapshot.Creation{Task: snapshot.Task{Deps: [][]byte{rawOwned(c, 98)}}}},
	} {
		if words == "98" { // what its constructor takes
			words = "was not handed over"
		}
		h.s.Actors = []snapshot.Actor{x}
		if err := h.actors(); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", words, err)
		}
	}
}

// The calls of a connection to an actor count as calls of the actor, those of a
// lease count for the lease. A lease is given back when its calls have ended.
func TestRestore_Channels_CallsUnderWayAreCounted(t *testing.T) {
	h := restoring(t)
	c := h.c
	token := ownedBy(c, 1)
	c.table.Install(refs.Known(token, refs.Facts{State: refs.Inline}))
	id := ids.Actor{7}
	a := setActor(c.addActor(id, "A", 0), "token", c.table.Find(token))
	k := &Class{ID: 5, Paces: make([]pace.Pace, 2)}
	c.Classes[5] = k
	defer func() {
		delete(c.Actors, id)
		delete(c.Classes, 5)
	}()
	h.tasks = []*Task{{First: 100, Seq: 4}, {First: 101, Seq: 5}, {First: 102, Seq: 6}}
	h.s.Channels = []snapshot.Channel{
		{Addr: "/actor", ActorID: id[:], Seq: 6, Number: 3, Tasks: []int{1, 2}},
		{Addr: "/worker", LeaseID: 9, Class: 5, Choice: 1, Seq: 4, Tasks: []int{0}},
	}
	if err := h.checkChannels(); err != nil {
		t.Fatal(err)
	}
	h.allChannels()
	l := c.Leases[9]
	if l == nil || l.Busy != 1 || !l.Recall || l.Choice != 1 || l.Class != k || !slices.Equal(k.Leases, []*Lease{l}) || l.Channel.Lease != l || l.Channel.addr != "/worker" {
		t.Fatalf("the lease: %+v", l)
	}
	if a.Channel == nil || a.Channel.Actor != a || a.Channel.seq != 6 || a.Channel.number != 3 || a.Channel.addr != "/actor" || a.Pending != 2 || a.Token().Pins() != 2 {
		t.Fatalf("the actor: %+v", a)
	}
	if c.Sent != 3 {
		t.Errorf("%d calls are under way, want 3", c.Sent)
	}
	for i, o := range []*Channel{l.Channel, a.Channel, a.Channel} {
		if x := h.tasks[i]; x.on != o || o.sent.Get(x.Seq) != x || (x.actor == a) != (i > 0) {
			t.Errorf("call %d is not on its connection, or not a call of its actor", i)
		}
	}
	delete(c.Leases, 9)
	for words, x := range map[string]snapshot.Channel{
		"class 6 is not part": {Class: 6},
		"has no choice -1":    {Class: 5, Choice: -1},
		"has no choice 2":     {Class: 5, Choice: 2},
	} {
		h.s.Channels = []snapshot.Channel{x}
		if err := h.checkChannels(); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", words, err)
		}
	}
}

// A successor gets functions with the numbers and classes that they had, and refuses numbers that no worker can have given.
func TestRestoreTemplate_NumbersAndClasses_AreAsTheyWere(t *testing.T) {
	h := restoring(t)
	c := h.c
	code := strings.Repeat("code", 10)
	made := func(number int, change func(*Template)) *Template {
		tm := &Template{ID: number, Kind: frame.KindTask, Name: "f", FID: []byte("0123456789abcdef"), Blob: []byte(code), Returns: 1, Resources: map[string]int64{"CPU": 1}}
		if change != nil {
			change(tm)
		}
		return tm
	}
	other := made(5, nil)
	first := made(3, func(tm *Template) { tm.Fallback = []*Template{other} })
	if err := c.restoreTemplate(first, 8); err != nil {
		t.Fatal(err)
	}
	if c.Templates[3] != first || c.Templates[5] != other || first.ID != 3 || other.ID != 5 || len(c.Templates) != 6 || !first.Retired() {
		t.Errorf("numbers %d and %d of %d", first.ID, other.ID, len(c.Templates))
	}
	if first.Class == nil || first.Class.ID != 8 || c.Classes[8] != first.Class || first.Class.Templates != 1 {
		t.Errorf("its class: %+v", first.Class)
	}
	if first.Maker() != 5 || other.Maker() != 5 {
		t.Errorf("the numbers of their names are %d and %d", first.Maker(), other.Maker())
	}
	if &first.Blob[0] != &other.Blob[0] {
		t.Error("two functions with the same code have two copies of it")
	}
	same := made(4, func(tm *Template) { tm.Fallback = []*Template{made(6, nil)} })
	if err := c.restoreTemplate(same, 8); err != nil || same.Class != first.Class || first.Class.Templates != 2 {
		t.Errorf("one that needs the same: %v, %+v", err, same.Class)
	}
	method := made(0, func(tm *Template) { tm.Kind = frame.KindMethod })
	if err := c.restoreTemplate(method, 99); err != nil || method.Class != nil || c.Templates[0] != method {
		t.Errorf("a method: %v, %+v", err, method.Class)
	}
	if err := c.restoreTemplate(made(1<<24, func(tm *Template) { tm.Name = "last" }), 98); err != nil {
		t.Errorf("the highest number: %v", err)
	}
	for words, x := range map[string]struct {
		tm    *Template
		class uint32
	}{
		"template 3 of f":                        {made(3, nil), 9},
		"template -1 of f":                       {made(-1, nil), 9},
		fmt.Sprintf("template %d of f", 1<<24+1): {made(1<<24+1, nil), 9},
		"template 5 of f":                        {made(7, func(tm *Template) { tm.Fallback = []*Template{made(5, nil)} }), 9},
		"class 8 of f":                           {made(9, func(tm *Template) { tm.Resources = map[string]int64{"CPU": 2} }), 8},
	} {
		if err := c.restoreTemplate(x.tm, x.class); fault.CodeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", words, err)
		}
	}
}

// Nothing is restored of a snapshot that Validate refuses.
func TestRestore_SnapshotIsRefused_NothingIsRestored(t *testing.T) {
	p := newProcess(t)
	_, err := p.Submitter.Restore(&snapshot.Submitter{
		Version:   snapshot.Version,
		Templates: []snapshot.Template{{Kind: frame.KindTask, Name: "f"}},
		Tasks:     []snapshot.Task{{Returns: 1}, {Returns: -1}},
		Actors:    []snapshot.Actor{{ID: make([]byte, ids.ActorSize)}},
	})
	if err == nil || !strings.Contains(err.Error(), "task 1: it has -1 results") {
		t.Errorf("the error is %v", err)
	}
	if len(p.Templates)+len(p.Actors)+p.Open > 0 {
		t.Error("something of the refused snapshot is restored")
	}
}
