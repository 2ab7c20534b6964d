package client

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/transport"
	"github.com/eagleray/eagleray/core/wire"
)

// testator is a session whose state a test makes up, and which then writes its
// will. Nothing of that state is real, so it is taken away before the session ends.
type testator struct {
	*Client
	t    *testing.T
	tmpl *Template // of tasks
	meth *Template // of calls
}

func writesWill(t *testing.T) *testator {
	t.Helper()
	c := startDaemon(t).driver()
	x := &testator{Client: c, t: t}
	task, meth := template(t, c, "f"), method(t, c, 0)
	c.mu.Lock()
	x.tmpl, x.meth = c.tmpls[task], c.tmpls[meth]
	t.Cleanup(func() { // before the session's own end
		c.actors, c.leases, c.delayed = map[ids.Actor]*actor{}, map[uint64]*lease{}, nil
		c.mu.Unlock()
	})
	return x
}

// will is what the session writes down; mu is held.
func (x *testator) will() (*will, []int) {
	w := new(will)
	fds := x.inventory(w, nil, nil)
	return w, fds
}

// firsts names the tasks of a will by their first counts.
func firsts(w *will, tasks []int) (list []uint64) {
	for _, n := range tasks {
		list = append(list, w.Tasks[n].First)
	}
	return list
}

// A will tells of each object its state, and of each state what is known then.
func TestInventory_Objects_EachStateIsWrittenDown(t *testing.T) {
	x := writesWill(t)
	friend, stranger := ids.Owner{5}, ids.Owner{6}
	make1 := func(s refs.State, change func(*refs.Facts)) *refs.Object {
		o := x.table.New(1, 1)
		inState(o, s)
		if change != nil {
			alter(o, change)
		}
		return o
	}
	failed := &fault.Error{Code: fault.WorkerCrashed, Message: "it died", Task: "f"}
	pending := make1(refs.Pending, nil)
	sought := make1(refs.Pending, func(f *refs.Facts) { f.Size = 9 })
	inline := make1(refs.Inline, func(f *refs.Facts) { f.Value, f.Size, f.IsError = []byte("value"), 5, true })
	stored := make1(refs.Stored, func(f *refs.Facts) { f.Value, f.Size = []byte("argument"), 8 })
	infeasible := make1(refs.Infeasible, func(f *refs.Facts) { f.Fault = failed })
	bad := make1(refs.Failed, func(f *refs.Facts) { f.Fault = failed })
	unrecoverable := make1(refs.Stored, nil)
	x.table.SetRecipe(unrecoverable, refs.NoRecipe(refs.Exhausted))
	x.table.AddBorrower(inline, friend)
	x.table.AddBorrower(inline, stranger)
	x.table.Contain(stored, inline)
	borrowed := x.table.Borrow(ids.NewObject(4, ids.Owner{9}, x.info.Job, 1), "its owner")
	borrowed.MarkAsked()

	v := &inventory{c: x.Client, w: new(will), serves: map[ids.Owner]bool{friend: true}}
	got := map[*refs.Object]willObject{}
	v.references()
	for _, o := range []*refs.Object{pending, sought, inline, stored, infeasible, bad, unrecoverable, borrowed} {
		y := writtenObject(t, v.w, o.ID)
		if got[o] = y; ids.Object(y.ID) != o.ID || y.OwnerAddr != o.OwnerAddr() || y.Size != o.Size() || y.Asked != o.Asked() || y.IsError != o.IsError() {
			t.Errorf("of %+v the will says %+v", o, y)
		}
	}
	for what, ok := range map[string]bool{
		"an object that is computed is not looked for":    got[pending].State == refs.Pending && !got[pending].Verifying,
		"one whose copy is looked for says so":            got[sought].State == refs.Pending && got[sought].Verifying,
		"a value is written down":                         got[inline].State == refs.Inline && string(got[inline].Value) == "value",
		"of borrowers those with a connection are":        len(got[inline].HeldBy) == 1 && ids.Owner(got[inline].HeldBy[0]) == friend,
		"the value of a stored argument is, too":          got[stored].State == refs.Stored && string(got[stored].Value) == "argument",
		"so is what a value contains":                     len(got[stored].Contained) == 1 && ids.Object(got[stored].Contained[0]) == inline.ID,
		"what cannot be scheduled here the heir tries":    got[infeasible].State == refs.Pending && got[infeasible].Fault == nil && got[infeasible].Value == nil,
		"a failure is written down":                       got[bad].State == refs.Failed && *got[bad].Fault == wire.FaultBody{Code: string(fault.WorkerCrashed), Message: "it died", Task: "f"},
		"an ordinary object has no failure":               got[inline].Fault == nil && got[stored].Fault == nil && got[pending].Fault == nil,
		"why one cannot be computed again is written":     got[unrecoverable].Why == refs.Exhausted && got[stored].Why == refs.Whole,
		"what is borrowed and was asked for says so":      got[borrowed].Asked && got[borrowed].OwnerAddr == "its owner",
		"an object that has no copy has no value or size": got[pending].Value == nil && got[pending].Size == 0,
	} {
		if !ok {
			t.Errorf("not so: %s", what)
		}
	}
}

// A task is written down with all that it needs to run, or to be answered, elsewhere.
func TestInventory_Task_IsWrittenDownWhole(t *testing.T) {
	x := writesWill(t)
	dep, nested, ref := x.table.New(1, 1), x.table.New(1, 1), x.table.New(0, 1)
	a := &actor{id: ids.Actor{3}}
	task := &task{tmpl: x.tmpl, first: 11, returns: 2, attempts: attempts{tries: 3, misses: 6}, fmt: 4, seq: 5, canceled: true, args: []byte("args"),
		argsRef: ref, deps: []*refs.Object{dep}, nested: []*refs.Object{nested}, actor: a}
	v := &inventory{c: x.Client, w: new(will), tasks: nil}
	got := v.written(task, taskLost)
	if got.First != 11 || got.Returns != 2 || got.Tries != 3 || got.Fmt != 4 || got.Seq != 5 || !got.Canceled || got.Misses != 6 || string(got.Args) != "args" || got.Place != taskLost {
		t.Errorf("the will says %+v", got)
	}
	if ids.Object(got.ArgsRef) != ref.ID || !slices.EqualFunc(got.Deps, []ids.Object{dep.ID}, sameID) || !slices.EqualFunc(got.Nested, []ids.Object{nested.ID}, sameID) {
		t.Errorf("the will says that it takes %x, %x, %x", got.ArgsRef, got.Deps, got.Nested)
	}
	if got.Aside != nil || got.Items != 0 || got.GoOn || got.Again {
		t.Errorf("an ordinary task that is in its queue: %+v", got)
	}
	task.aside, task.argsRef = true, nil
	task.stream = &stream{got: 7, goOn: true, again: true}
	got = v.written(task, taskWaits)
	if ids.Actor(got.Aside) != a.id || got.ArgsRef != nil || got.Items != 7 || !got.GoOn || !got.Again || got.Place != taskWaits {
		t.Errorf("a generator that is in no queue yet: %+v", got)
	}
}

func sameID(b []byte, id ids.Object) bool { return bytes.Equal(b, id[:]) }

// Each task is written down once, in the order in which it is to run: what is in a queue, what waits for
// arguments by age, what waits for a retry, and what a lease or an actor has.
func TestInventory_Tasks_EachOnceAndWhereItIs(t *testing.T) {
	x := writesWill(t)
	n := uint64(100)
	one := func(tm *Template) *task {
		n++
		return &task{tmpl: tm, first: n, counted: true, seq: uint32(n)}
	}
	queued := []*task{one(x.tmpl), one(x.tmpl)}
	for _, y := range queued {
		x.tmpl.class.queue.push(y)
	}
	// Tasks that wait for arguments are found through these.
	late := []*task{one(x.tmpl), one(x.tmpl), one(x.tmpl), one(x.tmpl)}
	call := one(x.meth)
	call.actor = &actor{}
	aside := one(x.meth)
	aside.actor, aside.aside = &actor{}, true
	done := one(x.tmpl)
	done.counted = false
	first, second := x.table.New(1, 1), x.table.New(1, 1)
	for _, k := range []*task{late[3], call, late[1], queued[0]} {
		x.table.WatchBy(first, k)
	}
	for _, k := range []*task{aside, late[2], late[0], done, late[1]} {
		x.table.WatchBy(second, k)
	}
	delayed := one(x.tmpl)
	x.delayed = map[*task]*delay{delayed: {}}
	lost := one(x.tmpl)
	sent := one(x.tmpl)
	broken := one(x.tmpl)
	open := withPipe(newOutConn(&x.submitter, "worker"), transport.Conn{})
	open.seq, open.num = 77, 78
	open.sent.add(sent)
	shut := withPipe(newOutConn(&x.submitter, "ended worker"), transport.Conn{})
	withPipe(shut, transport.Closed(x.poller))
	shut.sent.add(broken)
	x.leases[1] = &lease{id: 1, class: x.tmpl.class, lost: []*task{lost}}
	x.leases[2] = &lease{id: 2, class: x.tmpl.class, conn: open, choice: 1}
	x.leases[3] = &lease{id: 3, class: x.tmpl.class, conn: shut}
	x.leases[4] = &lease{id: 4, class: x.tmpl.class, conn: withPipe(newOutConn(&x.submitter, "idle worker"), transport.Conn{})}
	served, calls := &actor{id: ids.Actor{8}, pending: 1}, withPipe(newOutConn(&x.submitter, "actor"), transport.Conn{})
	sentCall := one(x.meth)
	sentCall.actor, served.conn = served, calls
	calls.sent.add(sentCall)
	x.actors[served.id] = served
	quiet := &actor{id: ids.Actor{9}, pending: 1, conn: withPipe(newOutConn(&x.submitter, "idle actor"), transport.Conn{})}
	x.actors[quiet.id] = quiet
	ended := &actor{id: ids.Actor{10}, pending: 1, conn: shut}
	x.actors[ended.id] = ended

	w, fds := x.will()
	var all []uint64
	places := map[uint64]taskPlace{}
	for _, y := range w.Tasks {
		all = append(all, y.First)
		places[y.First] = y.Place
	}
	var want []uint64
	for _, y := range slices.Concat(queued, late, []*task{aside, delayed}) {
		want = append(want, y.first)
	}
	if len(all) < len(want) || !slices.Equal(all[:len(want)], want) {
		t.Errorf("the will begins with the tasks %v, want %v", all, want)
	}
	rest := slices.Sorted(slices.Values(all[min(len(all), len(want)):]))
	if !slices.Equal(rest, []uint64{lost.first, sent.first, sentCall.first}) {
		t.Errorf("the will ends with the tasks %v", rest)
	}
	for _, y := range []*task{sent, sentCall} {
		if places[y.first] != taskSent {
			t.Errorf("a task that was sent is at %d", places[y.first])
		}
		delete(places, y.first)
	}
	for first, place := range places {
		if place != taskWaits {
			t.Errorf("task %d, which waits, is at %d", first, place)
		}
	}
	if len(w.Conns) != 2 || len(fds) != 2 {
		t.Fatalf("%d task sockets with %d descriptors are handed over, want the two with open calls", len(w.Conns), len(fds))
	}
	slices.SortFunc(w.Conns, func(a, b willConn) int { return strings.Compare(a.Addr, b.Addr) })
	if o := w.Conns[0]; o.Addr != "actor" || ids.Actor(o.ActorID) != served.id || o.LeaseID != 0 || !slices.Equal(firsts(w, o.Tasks), []uint64{sentCall.first}) {
		t.Errorf("the socket of the actor: %+v", o)
	}
	if o := w.Conns[1]; o.Addr != "worker" || o.LeaseID != 2 || o.Class != x.tmpl.class.id || o.Choice != 1 || o.ActorID != nil || o.Seq != 77 || o.Num != 78 || !slices.Equal(firsts(w, o.Tasks), []uint64{sent.first}) {
		t.Errorf("the socket of the lease: %+v", o)
	}
	blobs := map[string]bool{}
	for _, tm := range w.Templates {
		blobs[tm.Name] = tm.Blob != nil
	}
	if !maps.Equal(blobs, map[string]bool{"f": true, "A.m": false}) {
		t.Errorf("templates with and without code: %v", blobs)
	}
}

// A function that no task needs is written down without its code; an alternative goes inside its template.
func TestInventory_Templates_CodeOnlyWhereATaskNeedsIt(t *testing.T) {
	x := writesWill(t)
	other := &Template{Kind: KindTask, Name: "g", FID: []byte("gggggggggggggggg"), Blob: []byte("g"), Returns: 1, Fallback: []*Template{{Name: "h", FID: []byte("hhhhhhhhhhhhhhhh"), Blob: []byte("h")}}}
	if err := x.addTemplate(other); err != nil {
		t.Fatal(err)
	}
	w, _ := x.will()
	got := map[string]Template{}
	for _, tm := range w.Templates {
		got[tm.Name] = tm
	}
	if len(got) != 3 || len(w.Templates) != 3 {
		t.Errorf("%d templates are written down", len(w.Templates))
	}
	if g := got["g"]; g.Blob != nil || len(g.Fallback) != 1 || g.Fallback[0].Name != "h" || g.ClassID != other.class.id || g.Number != other.id || g.class != nil {
		t.Errorf("the one with an alternative: %+v", g)
	}
	if m := got["A.m"]; m.ClassID != 0 || m.Number != x.meth.id {
		t.Errorf("the method: %+v", m)
	}
	if string(other.Blob) != "g" || other.class == nil {
		t.Error("the session's own template has changed")
	}
}

// An actor's calls are written down in their order, those first whose fate is not known yet.
func TestInventory_ActorsCalls_ThoseThatWereSentFirst(t *testing.T) {
	x := writesWill(t)
	a := &actor{id: ids.Actor{3}, pending: 3, broken: &brokenConn{num: 44}}
	for n := range uint64(3) {
		y := &task{tmpl: x.meth, first: 200 + n, actor: a}
		if n > 0 {
			a.sent = append(a.sent, y)
		} else {
			a.queue.push(y)
		}
	}
	x.actors[a.id] = a
	w, _ := x.will()
	if len(w.Actors) != 1 || len(w.Tasks) != 3 {
		t.Fatalf("%d actors and %d tasks are written down", len(w.Actors), len(w.Tasks))
	}
	got := w.Actors[0]
	if !slices.Equal(firsts(w, got.Calls), []uint64{201, 202, 200}) || !got.Broken || got.Conn != 44 {
		t.Errorf("the will says %+v, calls %v", got, firsts(w, got.Calls))
	}
	for i, want := range []taskPlace{taskLost, taskLost, taskWaits} {
		if n := got.Calls[i]; w.Tasks[n].Place != want || w.Templates[w.Tasks[n].Template].Name != "A.m" {
			t.Errorf("call %d is at %d, of %s", i, w.Tasks[n].Place, w.Templates[w.Tasks[n].Template].Name)
		}
	}
}

// A constructor that was announced waits elsewhere; one that was not is announced by the heir.
func TestInventory_Constructor_WaitsWhereItIs(t *testing.T) {
	x := writesWill(t)
	for _, announced := range []bool{false, true} {
		a := &actor{id: ids.Actor{3}}
		tm := &Template{Kind: KindTask, Name: "A", class: x.tmpl.class}
		a.creation = &creation{task: &task{tmpl: tm, first: 9}, tmpl: tm, req: &wire.ActorCreate{Name: "its name"}, announce: announced, again: announced}
		v := &inventory{c: x.Client, w: new(will), tasks: map[*task]int{}}
		v.actor(a)
		if len(v.w.Actors) != 1 {
			t.Fatalf("announced %v: %d actors are written down", announced, len(v.w.Actors))
		}
		b := v.w.Actors[0].Birth
		want := taskWaits
		if announced {
			want = taskSent
		}
		if b == nil || b.Task.Place != want || b.Task.First != 9 || b.Announce != announced || b.Again != announced || b.Req.Name != "its name" || b.Template.Name != "A" || b.Template.class != nil {
			t.Errorf("announced %v: %+v", announced, b)
		}
		if tm.class == nil {
			t.Error("the session's own template has changed")
		}
	}
}

// What is held for others goes to the heir: results whose caller has not registered what is inside, and
// what a call took whose worker has not.
func TestInventory_HeldForOthers_IsWrittenDown(t *testing.T) {
	x := writesWill(t)
	a, b := x.table.New(1, 1), x.table.New(1, 1)
	caller, id := ids.Owner{4}, ids.Task{5}
	x.hold(caller, id, []*refs.Object{a})
	x.table.Retain("worker", []*refs.Object{b, a})
	x.table.Registering(1) // an owner is silent
	x.table.ReceiptWhenRegistered("worker", id)
	x.table.CallerLost(caller, "caller")
	w, _ := x.will()
	if len(w.Receipts) != 1 || w.Receipts[0].Addr != "worker" || !bytes.Equal(w.Receipts[0].Task, id[:]) {
		t.Errorf("receipts: %+v", w.Receipts)
	}
	if len(w.LookedFor) != 1 || w.LookedFor[0].Addr != "caller" || ids.Owner(w.LookedFor[0].Caller) != caller {
		t.Errorf("callers that are looked for: %+v", w.LookedFor)
	}
	if len(w.Held) != 1 || ids.Owner(w.Held[0].Caller) != caller || !bytes.Equal(w.Held[0].Task, id[:]) || !slices.EqualFunc(w.Held[0].Objects, []ids.Object{a.ID}, sameID) {
		t.Errorf("held: %+v", w.Held)
	}
	if len(w.Settlings) != 1 || w.Settlings[0].Addr != "worker" || !slices.EqualFunc(w.Settlings[0].Objects, []ids.Object{b.ID, a.ID}, sameID) {
		t.Errorf("not registered: %+v", w.Settlings)
	}
}

// writtenObject returns what a will says of an object.
func writtenObject(t *testing.T, w *will, id ids.Object) willObject {
	t.Helper()
	i := slices.IndexFunc(w.Objects, func(x willObject) bool { return ids.Object(x.ID) == id })
	if i < 0 {
		t.Fatalf("the will says nothing of object %s", id)
	}
	return w.Objects[i]
}
