package client

import (
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

// heirOf is an heir of a will, on a client of its own; the caller has its lock.
func heirOf(t *testing.T, w *will) *heir {
	t.Helper()
	c := startDaemon(t).driver()
	c.mu.Lock()
	t.Cleanup(c.mu.Unlock)
	return &heir{c: c, w: w}
}

func ownedBy(c *Client, n uint64) ids.Object { return ids.NewObject(n, c.self, c.info.Job, 1) }

// Objects come back with their states, faults and what they contain.
func TestHeir_Objects_AreAsTheyWere(t *testing.T) {
	h := heirOf(t, new(will))
	c := h.c
	failed, lost, outer := ownedBy(c, 1), ownedBy(c, 2), ownedBy(c, 3)
	borrower := ids.Owner{5}
	h.w.Objects = []willObject{
		{ID: failed[:], State: refs.Failed, IsError: true, Fault: &wire.FaultBody{Code: string(fault.WorkerCrashed), Message: "why", Task: "f"}},
		{ID: lost[:], State: refs.Pending, Size: 7, Verifying: true, Why: refs.Exhausted},
		{ID: outer[:], State: refs.Inline, Value: []byte("v"), Contained: [][]byte{lost[:]}, HeldBy: [][]byte{borrower[:], []byte("short")}},
	}
	if err := h.objects(); err != nil {
		t.Fatal(err)
	}
	a, b, x := c.table.Find(failed), c.table.Find(lost), c.table.Find(outer)
	if f := a.Fault(); a.State() != refs.Failed || !a.IsError() || f == nil || f.Code != fault.WorkerCrashed || f.Message != "why" || f.Task != "f" {
		t.Errorf("the failed one: %+v", a)
	}
	if b.Size() != 7 || b.Recipe() == nil || b.Recipe().Why() != refs.Exhausted || len(c.table.Unverified()) != 1 || c.table.Unverified()[0] != b {
		t.Errorf("the lost one: %+v, %d are to be looked for", b, len(c.table.Unverified()))
	}
	if x.Fault() != nil || x.Recipe() != nil || len(x.Contained()) != 1 || x.Contained()[0] != b {
		t.Errorf("the one that contains it: %+v", x)
	}
	for what, y := range map[string]willObject{
		"no id":           {ID: []byte("x")},
		"contains no id":  {ID: failed[:], Contained: [][]byte{[]byte("x")}},
		"contains nobody": {ID: failed[:], Contained: [][]byte{raw(ownedBy(c, 99))}},
	} {
		other := heirOf(t, &will{Objects: []willObject{y}})
		if err := other.objects(); err == nil {
			t.Errorf("%s: it is taken", what)
		}
	}
}

// A task that waits for its arguments goes on waiting; one that was sent does
// not. What a task takes has to be there.
func TestHeir_Task_WaitsForWhatIsNotThere(t *testing.T) {
	h := heirOf(t, new(will))
	c := h.c
	install := func(n uint64, state refs.State) ids.Object {
		id := ownedBy(c, n)
		c.table.Install(refs.Known(id, refs.Facts{State: state}))
		return id
	}
	there, pending, large := install(1, refs.Inline), install(2, refs.Pending), install(3, refs.Pending)
	result, done := install(10, refs.Pending), install(11, refs.Inline)
	x := willTask{First: 10, Returns: 2, Tries: 2, Fmt: 3, Seq: 4, Canceled: true, Args: []byte("a"), Misses: 5,
		Deps: [][]byte{there[:], pending[:]}, Nested: [][]byte{there[:]}, ArgsRef: large[:]}
	for place, waits := range map[taskPlace]int{taskWaits: 2, taskSent: 0} {
		x.Place = place
		pins := c.table.Find(there).Pins()
		got, err := h.task(&x, &Template{})
		if err != nil {
			t.Fatal(err)
		}
		if int(got.waiting) != waits || got.first != 10 || got.returns != 2 || got.tries != 2 || got.fmt != 3 || got.seq != 4 || !got.canceled || string(got.args) != "a" || got.misses != 5 || got.aside {
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
	for what, y := range map[string]willTask{
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
func TestHeir_Actors_WithTheirCalls(t *testing.T) {
	h := heirOf(t, new(will))
	c := h.c
	token := ownedBy(c, 1)
	c.table.Install(refs.Known(token, refs.Facts{State: refs.Inline}))
	id := ids.Actor{7}
	h.tasks = []*task{{first: 100}, {first: 101}, {first: 102}}
	h.w.Tasks = []willTask{{}, {Place: taskLost}, {}}
	h.w.Actors = []willActor{{ID: id[:], Name: "A", Inc: 3, Limit: 9, Token: token[:], Calls: []int{1, 0, 2}, Broken: true, Conn: 8,
		Birth: &willBirth{Template: Template{Name: "birth"}, Announce: true, Again: true}}}
	if err := h.actors(); err != nil {
		t.Fatal(err)
	}
	defer delete(c.actors, id)
	a := c.actors[id]
	var queued []uint64
	a.queue.each(func(t *task) { queued = append(queued, t.first) })
	if a.name != "A" || a.inc != 3 || a.limit != 9 || a.pending != 3 || len(a.sent) != 1 || a.sent[0].first != 101 || len(queued) != 2 || queued[0] != 100 || queued[1] != 102 {
		t.Errorf("%+v, queued %v", a, queued)
	}
	o := c.table.Find(token)
	if a.token != o || o.Source() != a || o.Pins() != 3 || a.broken == nil || a.broken.num != 8 {
		t.Errorf("its token has %d pins, %+v", o.Pins(), a.broken)
	}
	if b := a.creation; b == nil || b.tmpl.Name != "birth" || !b.announce || !b.again || b.task == nil {
		t.Errorf("its constructor: %+v", b)
	}
	c.table.EndToken(o)
	for words, x := range map[string]willActor{
		"call 3, of 3":        {ID: id[:], Calls: []int{3}},
		"call -1, of 3":       {ID: id[:], Calls: []int{-1}},
		"was not handed over": {ID: id[:], Token: raw(ownedBy(c, 99))},
		"98":                  {ID: id[:], Birth: &willBirth{Task: willTask{Deps: [][]byte{raw(ownedBy(c, 98))}}}},
	} {
		if words == "98" { // what its constructor takes
			words = "was not handed over"
		}
		h.w.Actors = []willActor{x}
		if err := h.actors(); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", words, err)
		}
	}
}

// Results whose callers have not confirmed them are held on; those that are not there are refused.
func TestHeir_Results_AreHeldOn(t *testing.T) {
	h := heirOf(t, new(will))
	c := h.c
	id, caller := ownedBy(c, 1), ids.Owner{6}
	c.table.Install(refs.Known(id, refs.Facts{State: refs.Inline}))
	h.w.Held = []willHeld{{Caller: caller[:], Task: make([]byte, ids.TaskSize), Objects: [][]byte{id[:]}}}
	if err := h.results(); err != nil || c.table.Find(id).Pins() != 1 {
		t.Errorf("%v, %d pins", err, c.table.Find(id).Pins())
	}
	unknown := ownedBy(c, 99)
	h.w.Held[0].Objects = [][]byte{unknown[:]}
	if err := h.results(); err == nil {
		t.Error("an unknown result is held")
	}
	h.w.Held, h.w.Settlings = nil, []willSettling{{Objects: [][]byte{unknown[:]}}}
	if err := h.results(); err == nil {
		t.Error("an unknown argument is settled")
	}
}
