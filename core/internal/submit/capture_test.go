package submit

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/actors"
	"github.com/eagleray/eagleray/core/internal/arguments"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/retry"
	"github.com/eagleray/eagleray/core/internal/snapshot"
)

// capturing is a process whose state a test makes up, and of which a snapshot is taken then.
type capturing struct {
	process
	tmpl *Template // of tasks
	meth *Template // of calls
}

func captured(t *testing.T) *capturing {
	t.Helper()
	x := &capturing{
		process: newProcess(t), tmpl: &Template{Kind: frame.KindTask, Name: "f", FID: []byte("ffffffffffffffff"), Blob: []byte("f"), Returns: 1},
		meth: &Template{Kind: frame.KindMethod, Name: "A.m", Method: "m", Returns: 1},
	}
	for _, tm := range []*Template{x.tmpl, x.meth} {
		x.addTemplate(tm)
	}
	t.Cleanup(func() { x.Leases, x.Delayed = nil, nil }) // nothing of it is real when the session ends
	return x
}

// firsts names the tasks of a snapshot by their first counts.
func firsts(s *snapshot.Submitter, tasks []int) (list []uint64) {
	for _, n := range tasks {
		list = append(list, s.Tasks[n].First)
	}
	return list
}

// A task is written down with all that it needs to run, or to be answered, elsewhere.
func TestCapture_Task_IsWrittenDownWhole(t *testing.T) {
	x := captured(t)
	dep, nested, ref := x.table.New(1, 1), x.table.New(1, 1), x.table.New(0, 1)
	a := unknownActor(&x.Submitter, 3)
	task := &Task{Template: x.tmpl, First: 11, Returns: 2, Attempts: retry.Attempts{Tries: 3, Misses: 6}, fmt: 4, Seq: 5, Canceled: true, actor: a,
		Arguments: arguments.Of([]byte("args"), ref, []*refs.Object{dep}, []*refs.Object{nested})}
	v := &capture{c: &x.Submitter, s: new(snapshot.Submitter)}
	got := v.written(task, snapshot.PlaceLost)
	if got.First != 11 || got.Returns != 2 || got.Tries != 3 || got.Format != 4 || got.Seq != 5 || !got.Canceled || got.Misses != 6 || string(got.Args) != "args" || got.Place != snapshot.PlaceLost {
		t.Errorf("the snapshot says %+v", got)
	}
	if ids.Object(got.ArgsRef) != ref.ID || !slices.EqualFunc(got.Deps, []ids.Object{dep.ID}, sameID) || !slices.EqualFunc(got.Nested, []ids.Object{nested.ID}, sameID) {
		t.Errorf("the snapshot says that it takes %x, %x, %x", got.ArgsRef, got.Deps, got.Nested)
	}
	if got.Aside != nil || got.Items != 0 || got.GoOn || got.Again {
		t.Errorf("an ordinary task that is in its queue: %+v", got)
	}
	task.aside, task.Arguments = true, arguments.Arguments{}
	task.Generator = generatorWith("got", 7, "goOn", true, "again", true)
	got = v.written(task, snapshot.PlaceWaiting)
	if ids.Actor(got.Aside) != a.ID || got.ArgsRef != nil || got.Items != 7 || !got.GoOn || !got.Again || got.Place != snapshot.PlaceWaiting {
		t.Errorf("a generator that is in no queue yet: %+v", got)
	}
}

func sameID(b []byte, id ids.Object) bool { return bytes.Equal(b, id[:]) }

// Each task is written down once, in the order in which it is to run: what is in a queue, what waits for
// arguments by age, what waits for a retry, and what a lease or an actor has.
func TestCapture_Tasks_EachOnceAndWhereItIs(t *testing.T) {
	x := captured(t)
	n := uint64(100)
	one := func(tm *Template) *Task {
		n++
		return &Task{Template: tm, First: n, counted: true, Seq: uint32(n)}
	}
	queued := []*Task{one(x.tmpl), one(x.tmpl)}
	for _, y := range queued {
		push(&x.tmpl.Class.Queue, y)
	}
	// Tasks that wait for arguments are found through these.
	late := []*Task{one(x.tmpl), one(x.tmpl), one(x.tmpl), one(x.tmpl)}
	call := one(x.meth)
	call.actor = &Actor{}
	aside := one(x.meth)
	aside.actor, aside.aside = &Actor{}, true
	done := one(x.tmpl)
	done.counted = false
	first, second := x.table.New(1, 1), x.table.New(1, 1)
	for _, k := range []*Task{late[3], call, late[1], queued[0]} {
		x.table.WatchBy(first, k)
	}
	for _, k := range []*Task{aside, late[2], late[0], done, late[1]} {
		x.table.WatchBy(second, k)
	}
	delayed := one(x.tmpl)
	x.Delayed = map[*Task]*Delay{delayed: {}}
	lost := one(x.tmpl)
	sent := one(x.tmpl)
	broken := one(x.tmpl)
	open := withPipe(NewChannel(&x.Submitter, "worker"), new(silentPipe))
	open.seq, open.number = 77, 78
	open.sent.Add(sent.Seq, sent)
	shut := withPipe(NewChannel(&x.Submitter, "ended worker"), new(silentPipe))
	withPipe(shut, &silentPipe{closed: true})
	shut.sent.Add(broken.Seq, broken)
	x.Leases[1] = &Lease{ID: 1, Class: x.tmpl.Class, Lost: []*Task{lost}}
	x.Leases[2] = &Lease{ID: 2, Class: x.tmpl.Class, Channel: open, Choice: 1}
	x.Leases[3] = &Lease{ID: 3, Class: x.tmpl.Class, Channel: shut}
	x.Leases[4] = &Lease{ID: 4, Class: x.tmpl.Class, Channel: withPipe(NewChannel(&x.Submitter, "idle worker"), new(silentPipe))}
	served, calls := x.addActor(ids.Actor{8}, "A", 0), withPipe(NewChannel(&x.Submitter, "actor"), new(silentPipe))
	sentCall := one(x.meth)
	sentCall.actor, served.Channel = served, calls
	calls.sent.Add(sentCall.Seq, sentCall)
	quiet, ended := x.addActor(ids.Actor{9}, "A", 0), x.addActor(ids.Actor{10}, "A", 0)
	served.Pending, quiet.Pending, ended.Pending = 1, 1, 1
	quiet.Channel, ended.Channel = withPipe(NewChannel(&x.Submitter, "idle actor"), new(silentPipe)), shut

	w, channels := x.Snapshot()
	var all []uint64
	places := map[uint64]snapshot.Place{}
	for _, y := range w.Tasks {
		all = append(all, y.First)
		places[y.First] = y.Place
	}
	var want []uint64
	for _, y := range slices.Concat(queued, late, []*Task{aside, delayed}) {
		want = append(want, y.First)
	}
	if len(all) < len(want) || !slices.Equal(all[:len(want)], want) {
		t.Errorf("the snapshot begins with the tasks %v, want %v", all, want)
	}
	rest := slices.Sorted(slices.Values(all[min(len(all), len(want)):]))
	if !slices.Equal(rest, []uint64{lost.First, sent.First, sentCall.First}) {
		t.Errorf("the snapshot ends with the tasks %v", rest)
	}
	for _, y := range []*Task{sent, sentCall} {
		if places[y.First] != snapshot.PlaceSent {
			t.Errorf("a task that was sent is at %d", places[y.First])
		}
		delete(places, y.First)
	}
	for first, place := range places {
		if place != snapshot.PlaceWaiting {
			t.Errorf("task %d, which waits, is at %d", first, place)
		}
	}
	if len(w.Channels) != 2 || !slices.Equal(channels, []*Channel{open, calls}) {
		t.Fatalf("%d channels are written down, %d returned, want the two with open calls", len(w.Channels), len(channels))
	}
	slices.SortFunc(w.Channels, func(a, b snapshot.Channel) int { return strings.Compare(a.Addr, b.Addr) })
	if o := w.Channels[0]; o.Addr != "actor" || ids.Actor(o.ActorID) != served.ID || o.LeaseID != 0 || !slices.Equal(firsts(w, o.Tasks), []uint64{sentCall.First}) {
		t.Errorf("the socket of the actor: %+v", o)
	}
	if o := w.Channels[1]; o.Addr != "worker" || o.LeaseID != 2 || o.Class != x.tmpl.Class.ID || o.Choice != 1 || o.ActorID != nil || o.Seq != 77 || o.Number != 78 || !slices.Equal(firsts(w, o.Tasks), []uint64{sent.First}) {
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

// A function that no task needs is written down without its code. An alternative stands inside its template.
func TestCapture_Templates_CodeOnlyWhereATaskNeedsIt(t *testing.T) {
	x := captured(t)
	other := &Template{Kind: frame.KindTask, Name: "g", FID: []byte("gggggggggggggggg"), Blob: []byte("g"), Returns: 1, Fallback: []*Template{{Name: "h", FID: []byte("hhhhhhhhhhhhhhhh"), Blob: []byte("h")}}}
	x.addTemplate(other)
	w, _ := x.Snapshot()
	got := map[string]snapshot.Template{}
	for _, tm := range w.Templates {
		got[tm.Name] = tm
	}
	if len(got) != 3 || len(w.Templates) != 3 {
		t.Errorf("%d templates are written down", len(w.Templates))
	}
	if g := got["g"]; g.Blob != nil || len(g.Fallback) != 1 || g.Fallback[0].Name != "h" || g.Class != other.Class.ID || g.Number != other.ID {
		t.Errorf("the one with an alternative: %+v", g)
	}
	if m := got["A.m"]; m.Class != 0 || m.Number != x.meth.ID {
		t.Errorf("the method: %+v", m)
	}
	if string(other.Blob) != "g" || other.Class == nil {
		t.Error("the session's own template has changed")
	}
}

// An actor's calls are written down in their order. Those come first of which it is not known yet whether they have begun.
func TestCapture_ActorsCalls_ThoseThatWereSentFirst(t *testing.T) {
	x := captured(t)
	a := x.addActor(ids.Actor{3}, "A", 0)
	a.Pending = 3
	a.Lost(actors.Incarnation{Conn: 44})
	for n := range uint64(3) {
		y := &Task{Template: x.meth, First: 200 + n, actor: a}
		if n > 0 {
			a.Sent = append(a.Sent, y)
		} else {
			a.Queue.push(y)
		}
	}
	x.Actors[a.ID] = a
	w, _ := x.Snapshot()
	if len(w.Actors) != 1 || len(w.Tasks) != 3 {
		t.Fatalf("%d actors and %d tasks are written down", len(w.Actors), len(w.Tasks))
	}
	got := w.Actors[0]
	if !slices.Equal(firsts(w, got.Calls), []uint64{201, 202, 200}) || !got.Broken || got.Number != 44 {
		t.Errorf("the snapshot says %+v, calls %v", got, firsts(w, got.Calls))
	}
	for i, want := range []snapshot.Place{snapshot.PlaceLost, snapshot.PlaceLost, snapshot.PlaceWaiting} {
		if n := got.Calls[i]; w.Tasks[n].Place != want || w.Templates[w.Tasks[n].Template].Name != "A.m" {
			t.Errorf("call %d is at %d, of %s", i, w.Tasks[n].Place, w.Templates[w.Tasks[n].Template].Name)
		}
	}
}

// A constructor that was announced waits elsewhere. The successor announces one that was not.
func TestCapture_Constructor_WaitsWhereItIs(t *testing.T) {
	x := captured(t)
	for _, announced := range []bool{false, true} {
		a := unknownActor(&x.Submitter, 3)
		tm := &Template{Kind: frame.KindTask, Name: "A", Class: x.tmpl.Class}
		setConstructor(a, &Task{Template: tm, First: 9}, announced, announced)
		v := &capture{c: &x.Submitter, s: new(snapshot.Submitter), tasks: map[*Task]int{}}
		v.actor(a)
		if len(v.s.Actors) != 1 {
			t.Fatalf("announced %v: %d actors are written down", announced, len(v.s.Actors))
		}
		b := v.s.Actors[0].Creation
		want := snapshot.PlaceWaiting
		if announced {
			want = snapshot.PlaceSent
		}
		if b == nil || b.Task.Place != want || b.Task.First != 9 || b.Announce != announced || b.Again != announced || b.Request.Name != "its name" || b.Template.Name != "A" {
			t.Errorf("announced %v: %+v", announced, b)
		}
		if tm.Class == nil {
			t.Error("the session's own template has changed")
		}
	}
}

// An actor goes to the successor while somebody has a handle of it, a call of it is
// open, or it is not registered yet; else nobody can call it any more.
func TestCapture_Actor_OnlyWhileItMayBeCalled(t *testing.T) {
	token := refs.Known(ids.NewObject(7, ids.Owner{1}, ids.Job{}, 0), refs.Facts{})
	for what, x := range map[string]struct {
		token   *refs.Object
		calls   int
		written bool
	}{
		"nobody has it":       {nil, 0, false},
		"it has a handle":     {token, 0, true},
		"a call is open":      {nil, 1, true},
		"a call and a handle": {token, 2, true},
	} {
		v := &capture{s: new(snapshot.Submitter), tasks: map[*Task]int{}}
		a := setActor(unknownActor(new(Submitter), 3), "incarnation", 5)
		if x.token != nil {
			setActor(a, "token", x.token)
		}
		a.limit, a.Pending = 9, x.calls
		v.actor(a)
		if len(v.s.Actors) > 0 != x.written {
			t.Errorf("%s: %d actors are written down", what, len(v.s.Actors))
			continue
		}
		if !x.written {
			continue
		}
		got := v.s.Actors[0]
		if ids.Actor(got.ID) != a.ID || got.Name != "A" || got.Incarnation != 5 || got.Limit != 9 || got.Broken || got.Creation != nil || len(got.Token) > 0 != (x.token != nil) {
			t.Errorf("%s: %+v", what, got)
		}
	}
}
