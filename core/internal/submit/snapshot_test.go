package submit

import (
	"reflect"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/actors"
	"github.com/eagleray/eagleray/core/internal/arguments"
	"github.com/eagleray/eagleray/core/internal/cancellation"
	"github.com/eagleray/eagleray/core/internal/envelope"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/progress"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/retry"
	"github.com/eagleray/eagleray/core/internal/templates"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// notInSnapshot are the fields of each struct that a successor does not get, with the reason.
var notInSnapshot = map[string]map[string]string{
	"Submitter": {
		"closed":       "the successor's session has not ended",
		"why":          "the successor's session has not ended",
		"leaving":      "the successor's session says when it may end",
		"memory":       "the next worker that is ended for want of memory brings it again",
		"Unqueued":     "the worker waits for what is in no queue before it hands over",
		"Delayed":      "the successor tries the task at once",
		"Cancels":      "it measures how many tasks the program cancels at a time",
		"pendingTimer": "what waits for long is reported anew",
		"Watch":        "what waits for long is reported anew",
	},
	"Pool": {
		"begun":     "the page is memory of the process; without it a task of a worker that crashed counts as begun",
		"IdleTimer": "leases that have nothing to do are given back before",
		"IdleLook":  "leases that have nothing to do are given back before",
	},
	"Table": {
		"FreeIDs": "numbers that were free stay free",
		"Endings": "the workers that ran tasks list those that have ended",
	},
	"Template": {
		"finished": "the workers that ran tasks list those that have ended",
		"failed":   "the workers that ran tasks list those that have ended",
		"Larger":   "the next retry that needs more memory makes it again",
		"base":     "the tasks of a template with Near stay together",
		"nears":    "the next task whose large arguments lie there makes it again",
	},
	"Task": {
		"place":  "a task gets a place when it is queued",
		"failed": "a task that has failed has an answer",
		"why":    "a task that has failed has an answer",
		"Since":  "what waits for long is reported anew",
		"moving": "its arguments are moved to the arena again, if they have to be",
		"parent": "the call that submitted the task has ended with its process",
	},
	"Generators": {
		"read":  "the program that reads items has ended",
		"ended": "the successor's session has not ended",
	},
	"Generator": {
		"taken":  "the program that takes items has ended",
		"told":   "the program that takes items has ended",
		"warned": "the program that takes items has ended",
	},
	"Actor": {
		"stuck": "what waits for long is reported anew",
		"since": "what waits for long is reported anew",
		"held":  "it is found again when calls are sent",
	},
	"ActorRow": {
		"asking":    "the daemon is asked again",
		"over":      "the program that asks for the actor's state has ended",
		"forgotten": "an actor that nothing leads to has no row",
		"patience":  "the daemon is asked again",
		"handles":   "the handles of a program end with it",
		"timed":     "the successor sets a timer when the last call ends",
		"called":    "calls have ended since the timer was set",
		"bad":       "the daemon is asked again",
	},
	"Constructor": {},
	"Arguments":   {},
	"Channel": {
		"known":  "a worker takes templates and functions again that it has",
		"gives":  "the worker was told when the channel was opened",
		"inc":    "it is the actor's as soon as the channel is open",
		"unsent": "a part of what waits to be sent may have left: the successor's connection says of none of it that it was refused",
	},
	"Lease": {
		"Paused":  "a lease that was moved gets no more tasks",
		"Blocked": "a lease that was moved gets no more tasks",
		"Wanted":  "a lease that was moved goes back when its calls have ended",
		"idle":    "leases that have nothing to do are given back before",
		"IdleAt":  "leases that have nothing to do are given back before",
		"better":  "a lease that was moved gets no more tasks",
		"never":   "a lease that was moved gets no more tasks",
		"used":    "a lease that was moved gets no more tasks",
		"slot":    "the page is memory of the process; without it a task of a worker that crashed counts as begun",
		"opening": "only leases with an open channel are moved",
		"way":     "a lease that was moved gets no more tasks",
	},
	"Creation": {},
}

// A new field of the machine is either part of its snapshot, or its absence is a decision with a reason.
func TestSnapshot_EveryField_ComesBackOrIsNamed(t *testing.T) {
	old := busy(t)
	next, r := successorOf(t, old.process)
	pairs := old.pairs(t, next, r)
	for name, list := range pairs {
		fields := reflect.TypeOf(list[0].old).Elem()
		named := notInSnapshot[name]
		for i := range fields.NumField() {
			f := fields.Field(i)
			used := false
			for _, x := range list {
				was, is := field(x.old, i), field(x.next, i)
				if empty(was) {
					continue
				}
				used = true
				_, absent := named[f.Name]
				if back := !empty(is); back == absent {
					t.Errorf("field %s of a %s comes back: %v; it is among those that do not: %v", f.Name, name, back, absent)
				}
				if !absent && plain(f.Type) && !reflect.DeepEqual(was.Interface(), is.Interface()) {
					t.Errorf("field %s of a %s was %v and is %v", f.Name, name, was.Interface(), is.Interface())
				}
			}
			if !used {
				t.Errorf("this test does not use field %s of a %s", f.Name, name)
			}
		}
		for absent := range named {
			if _, ok := fields.FieldByName(absent); !ok {
				t.Errorf("a %s has no field %s", name, absent)
			}
		}
	}
	for name := range notInSnapshot {
		if pairs[name] == nil {
			t.Errorf("this test compares no %s", name)
		}
	}
}

// empty reports whether a field has nothing in it.
func empty(v reflect.Value) bool {
	if k := v.Kind(); k == reflect.Map || k == reflect.Slice {
		return v.Len() == 0
	}
	return v.IsZero()
}

// field returns a field of a struct, also one that is not exported.
func field(x any, i int) reflect.Value {
	v := reflect.ValueOf(x).Elem().Field(i)
	return reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
}

// set gives a field a value, also one that is not exported.
func set(x any, name string, value any) {
	f := reflect.ValueOf(x).Elem().FieldByName(name)
	reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem().Set(reflect.ValueOf(value))
}

// plain reports whether equal values of a type are the same in another process.
func plain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Slice:
		return t.Elem().Kind() == reflect.Uint8
	case reflect.Map:
		return t.Key().Kind() == reflect.String && plain(t.Elem())
	case reflect.Array:
		return plain(t.Elem())
	case reflect.Pointer:
		return t == reflect.TypeFor[*fault.Error]()
	case reflect.Struct:
		return t == reflect.TypeFor[frame.Flow]() || t == reflect.TypeFor[retry.Attempts]() || t == reflect.TypeFor[Member]()
	case reflect.Interface, reflect.Func, reflect.Chan:
		return false
	}
	return true
}

// pair is a struct of a process and that of its successor.
type pair struct{ old, next any }

// busyProcess is a process that uses all fields of its structs.
type busyProcess struct {
	process
	tasks               []*Task // without an answer
	recipe              *Task   // finished
	leases              []*Lease
	alive, broken, dead *Actor
}

// count makes a task without an answer, with one result.
func (b *busyProcess) count(tm *Template) *Task {
	o := b.table.New(1, 1)
	x := &Task{Template: tm, First: o.ID.Count(), Returns: 1}
	o.SetSource(x)
	b.Count(x)
	b.tasks = append(b.tasks, x)
	return x
}

// add registers a template whose program has ended.
func (b *busyProcess) add(t *testing.T, tm *Template) *Template {
	t.Helper()
	b.addTemplate(tm)
	tm.Retire()
	return tm
}

// actor makes an actor that another process has a handle of.
func (b *busyProcess) actor(n byte) *Actor {
	a, token := b.addActor(ids.Actor{n}, "A", 0), b.table.New(0, 0)
	b.table.Reserve(1) // for the exception of its constructor
	a.SetToken(token)
	b.table.AddBorrower(token, ids.Owner{9})
	return a
}

// called makes a call of an actor.
func (b *busyProcess) called(a *Actor, tm *Template) *Task {
	x := b.count(tm)
	x.actor = a
	a.Pending++
	a.HoldCall()
	return x
}

// open makes an open channel to a process of another node, on which a call was sent.
func (b *busyProcess) open(x *Task, seq uint32) *Channel {
	o := NewChannel(&b.Submitter, wire.AddressOf(ids.NewWorkerOn(9).Owner()))
	o.Pipe, o.seq, o.number, x.Seq, x.on = new(silentPipe), seq, seq+100, seq, o
	o.known.Add(x.Template.ID, x.Template.FID)
	o.sent.Add(x.Seq, x)
	o.count(1)
	return o
}

// busy returns a process that uses all fields of its structs, each in one struct at least.
func busy(t *testing.T) *busyProcess {
	t.Helper()
	b := &busyProcess{process: newProcess(t)}
	function := b.add(t, &Template{
		Kind: frame.KindTask, Name: "f", FID: []byte("sixteen bytes id"), Blob: []byte("code"), Returns: 1, MaxRetries: 3, RetryErrs: true, MaxCalls: 4,
		Resources: map[string]int64{"CPU": 1}, EnvKey: "env", Strategy: "SPREAD", Fallback: []*Template{{Name: "alternative", Resources: map[string]int64{"CPU": 2}}},
		AfterMs: 5, Enforce: true, MoreMemory: true, Forget: true,
	})
	for _, failed := range []bool{false, true} {
		function.Submitted()
		function.Ended(failed)
	}
	function.Larger = b.add(t, &Template{Kind: frame.KindTask, Name: "larger", FID: []byte("sixteen bytes id"), Blob: []byte("code")})
	method := b.add(t, &Template{Kind: frame.KindMethod, Name: "A.m", Method: "m", Group: "io", Unordered: true, Hidden: true, Returns: 1})
	items := b.add(t, &Template{
		Kind: frame.KindTask, Name: "items", FID: []byte("sixteen bytes ID"), Blob: []byte("more code"), Returns: 1, Flow: frame.Flow{Mode: frame.FlowStream, Limit: 9}, MaxRetries: 3,
	})
	near := b.add(t, items.Approach(2))
	push(&near.Class.Queue, b.count(near))
	b.ownTasks(function)
	b.onLease(function)
	b.calls(function, method)
	b.deadActor()
	b.generators(items)
	c := &b.Submitter
	c.closed, c.why, c.leaving = true, fault.New(fault.Closed, "it ends"), true
	c.memory = 1
	c.FreeIDs, c.IdleTimer, c.IdleLook, c.Unqueued = []int{99}, time.NewTimer(time.Hour), time.Now(), 1
	set(&c.Pool, "begun", new(progress.LeasePage))
	c.Cancels = cancellation.Burst{N: 1}
	c.Endings.Retired = map[[2]string]*wire.Ends{}
	c.Settings.RetryDelay = time.Second
	c.Generators.End(c.why)
	c.pendingTimer, c.Looks = time.NewTimer(time.Hour), 1
	t.Cleanup(func() { // before the end of the session, which would tell all of these
		set(&c.Pool, "begun", (*progress.LeasePage)(nil))
	})
	return b
}

// ownTasks makes tasks that wait: for an argument, in a queue and for a retry. It makes a finished task that is kept, too.
func (b *busyProcess) ownTasks(function *Template) {
	c := &b.Submitter
	dep, nested, large := c.table.New(1, 1), c.table.New(1, 1), c.table.New(1, 1)
	c.table.PutStored(nested, 100, false)
	x := b.count(function)
	x.Attempts, x.fmt, x.Since, x.parent = retry.Attempts{Tries: 1, Crashes: 2, OOMs: 3, Misses: 4}, 5, 6, 7
	x.failed, x.why = true, templates.NewWhy(wire.Raised, "text")
	x.Arguments = arguments.Of([]byte("arguments"), large, []*refs.Object{dep}, []*refs.Object{nested})
	for _, o := range []*refs.Object{dep, nested, large} {
		c.table.Pin(o)
	}
	c.waitFor(x, dep)
	c.waitFor(x, large)
	for range 2 {
		push(&function.Class.Queue, b.count(function))
	}
	c.Delayed = map[*Task]*Delay{b.count(function): {}}

	again := b.count(function)
	c.table.Record(c.recipe(again), []*refs.Object{c.table.FindOwned(again.First)})
	c.table.Begin(again.recipe, again)
	push(&function.Class.Queue, again)

	result := c.table.New(1, 1)
	c.table.PutStored(result, 10, false)
	b.recipe = &Task{Template: function, First: result.ID.Count(), Returns: 1, Arguments: arguments.Of([]byte("kept"), nil, nil, nil)}
	c.table.Record(c.recipe(b.recipe), []*refs.Object{result})
}

// onLease makes a lease with a task on it.
func (b *busyProcess) onLease(function *Template) {
	k, x := function.Class, b.count(function)
	l := &Lease{
		ID: 2<<32 | 8, Node: 2, Class: k, Busy: 1, Paused: true, Blocked: true, Recall: true, Wanted: true, IdleAt: time.Now(), Broken: true, Detail: "words",
		Code: fault.WorkerCrashed, Held: 9, Begun: 3, Known: true, NodeLost: true, Choice: 1,
	}
	for _, private := range []string{"idle", "better", "never", "used", "opening"} {
		set(l, private, true)
	}
	set(l, "slot", 2)
	set(l, "way", 7.0)
	l.Channel = b.open(x, 3)
	l.Channel.gives, l.Channel.unsent = new(wire.Assignment), 2
	l.Channel.Lease, x.Canceled = l, true
	b.Leases[l.ID], k.Leases, b.leases = l, append(k.Leases, l), append(b.leases, l)
	lost := &Lease{ID: 2<<32 | 9, Node: 2, Class: k, Busy: 1, Recall: true, Gone: true, Lost: []*Task{b.count(function)}, Choice: 1}
	b.Leases[lost.ID], b.leases = lost, append(b.leases, lost)
	k.RestoreHome(2, 6)
}

// calls makes an actor with calls that wait, that were sent, and that run again, and one whose channel broke.
func (b *busyProcess) calls(function, method *Template) {
	a := b.actor(3)
	b.alive = a
	a.limit, a.grouped, a.held, a.stuck, a.since = 5, true, map[string]bool{"io": true}, true, 7
	setActor(a, "incarnation", 4, "handles", 6, "asking", true, "forgotten", true, "patience", time.Second, "timed", true, "called", true, "bad", fault.New(fault.ActorUnschedulable, "no node"))
	sent := b.called(a, method)
	a.Channel = b.open(sent, 11)
	a.Channel.Actor, a.Channel.inc = a, 4
	a.Channel.fill("io")
	a.Queue.push(b.called(a, method))
	aside := b.called(a, method)
	aside.aside, aside.moving = true, true
	aside.AddDependency(b.table.New(1, 1))
	b.table.Pin(aside.At(1))
	b.waitFor(aside, aside.At(1))
	setConstructor(a, &Task{Template: function, First: 900, Arguments: arguments.Of([]byte("constructor"), nil, nil, nil)}, true, true)
	b.broken = b.actor(4)
	b.broken.Lost(actors.Incarnation{Conn: 12})
	b.broken.Sent = []*Task{b.called(b.broken, method)}
}

// deadActor makes an actor whose constructor has raised a large exception.
func (b *busyProcess) deadActor() {
	b.dead = b.actor(5)
	raised := b.table.Place(b.dead.Token().ID.Count()+1, 1)
	b.table.PutStored(raised, 1000, true)
	where := envelope.PointTo(&frame.Pointer{ID: raised.ID, Size: 1000, Owner: b.Addr})
	b.dead.Die(&fault.Error{Code: fault.ActorDied, Message: "it raised", Task: "A"}, where.Envelope(where.Size()))
}

// generators makes a generator that yields, a second run for an item that is lost, and a generator that nobody wants.
func (b *busyProcess) generators(items *Template) {
	c := &b.Submitter
	first := b.count(items)
	first.stored, first.Tries = true, 2
	first.Generator = setGenerator(c.Generators.New(first, first.First, frame.FlowStream), "got", 2, "taken", 1, "ahead", 5, "told", true, "warned", true, "left", true, "goOn", true, "tries", 2)
	lost := c.table.Place(first.First+1, 2)
	c.table.AddBorrower(lost, ids.Owner{9})
	push(&items.Class.Queue, first)
	again := &Task{Template: items, First: first.First, Returns: 1}
	again.Generator = generatorWith("own", first.First, "task", again, "got", 2, "left", true, "again", true, "first", first.Generator)
	lost.SetSource(again)
	c.Count(again)
	push(&items.Class.Queue, again)
	b.tasks = append(b.tasks, again)
	unwanted := b.count(items)
	unwanted.Generator = setGenerator(c.Generators.New(unwanted, unwanted.First, frame.FlowStream), "left", true, "quit", true)
	c.table.Unref(c.table.FindOwned(unwanted.First), 1) // nobody has the generator any more
	c.table.CarryOut()
	push(&items.Class.Queue, unwanted)
}

// pairs puts the structs of a process beside those of its successor.
func (b *busyProcess) pairs(t *testing.T, next process, r *Restored) map[string][]pair {
	t.Helper()
	all := map[string][]pair{"Submitter": {{&b.Submitter, &next.Submitter}}, "Generators": {{&b.Generators, &next.Generators}}, "Table": {{&b.Table, &next.Table}}, "Pool": {{&b.Pool, &next.Pool}}}
	add := func(name string, old, next any) {
		if reflect.ValueOf(next).IsNil() {
			t.Fatalf("a %s does not come back: %+v", name, old)
		}
		all[name] = append(all[name], pair{old, next})
	}
	for _, x := range b.tasks {
		i := slices.IndexFunc(r.tasks, func(y *Task) bool {
			return y.First == x.First && (x.Generator != nil && x.Generator.Second()) == (y.Generator != nil && y.Generator.Second())
		})
		if i < 0 {
			t.Fatalf("a task of %s does not come back: %+v", x.Template.Name, x)
		}
		add("Task", x, r.tasks[i])
		add("Arguments", &x.Arguments, &r.tasks[i].Arguments)
		if x.Generator != nil {
			add("Generator", x.Generator, r.tasks[i].Generator)
		}
	}
	add("Task", b.recipe, TaskOf(next.table.FindOwned(b.recipe.First).Recipe().Task()))
	for _, l := range b.leases {
		add("Lease", l, next.Leases[l.ID])
		if l.Channel != nil {
			add("Channel", l.Channel, next.Leases[l.ID].Channel)
		}
	}
	for _, a := range b.Actors {
		y := next.Actors[a.ID]
		add("Actor", a, y)
		if a.Channel != nil {
			add("Channel", a.Channel, y.Channel)
		}
		add("ActorRow", &a.Actor, &y.Actor)
		if k, _ := a.Creation(); k != nil {
			add("Creation", creationOf(a), creationOf(y))
			back, _ := y.Creation()
			add("Constructor", k, back)
		}
	}
	for _, tm := range b.AllTemplates() {
		if tm.Name != "larger" && tm.Name != "alternative" { // no task needs its code
			add("Template", tm, next.Templates[tm.ID])
		}
	}
	return all
}

// creationOf returns what package actors keeps of an actor's creation.
func creationOf(a *Actor) any {
	f := actorField(a, "creation")
	return reflect.NewAt(f.Type().Elem(), f.UnsafePointer()).Interface()
}
