package submit

import (
	"fmt"
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/actors"
	"github.com/eagleray/eagleray/core/internal/arguments"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/snapshot"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// askedOf tells what a process has asked the daemon about actors, each question as a word and the actor's first byte.
func (p process) askedOf() (list []string) {
	for _, q := range p.asked {
		switch b := q.body.(type) {
		case *wire.ActorCreate:
			list = append(list, fmt.Sprint("create ", b.ActorID[0]))
		case wire.ActorResolve:
			list = append(list, fmt.Sprint("resolve ", b.ActorID[0]))
		case wire.ActorLost:
			word := "death? "
			if b.Incarnation == wire.ActorNever {
				word = "death "
			}
			list = append(list, fmt.Sprint(word, b.ActorID[0]))
		}
	}
	slices.Sort(list)
	return list
}

// resuming returns a process and what resumes it, with nothing restored.
func resuming(t *testing.T) (process, *Restored) {
	t.Helper()
	p := newProcess(t)
	t.Cleanup(func() { clear(p.Leases) })
	return p, &Restored{c: &p.Submitter, s: new(snapshot.Submitter)}
}

// A successor asks about each actor what its predecessor was about to ask, and asks nothing about an actor that needs nothing.
func TestResume_AsksOfEachActorWhatIsToBeKnown(t *testing.T) {
	newCall := func() *Task {
		return &Task{Template: &Template{Kind: frame.KindMethod, Name: "A.m", Method: "m", Returns: 1}}
	}
	create := func(a *Actor, announced, again bool) {
		tm := &Template{Kind: frame.KindTask, Name: "A", FID: []byte("sixteen bytes id"), Returns: 1}
		setConstructor(a, &Task{Template: tm}, announced, again)
	}
	breaks := func(a *Actor) {
		a.Lost(actors.Incarnation{Conn: 3})
		a.Sent = []*Task{newCall()}
	}
	for what, x := range map[string]struct {
		make func(a *Actor)
		want []string
	}{
		"it needs nothing":                      {func(*Actor) {}, nil},
		"its constructor may run again":         {func(a *Actor) { create(a, true, true) }, []string{"death 7"}},
		"it is not registered":                  {func(a *Actor) { create(a, false, false) }, []string{"create 7"}},
		"it is registered and does not run yet": {func(a *Actor) { create(a, true, false) }, []string{"resolve 7"}},
		"its process had calls":                 {breaks, []string{"death? 7"}},
		"its calls were sent":                   {func(a *Actor) { a.Sent = []*Task{newCall()} }, []string{"resolve 7"}},
		"calls wait":                            {func(a *Actor) { a.Queue.push(newCall()) }, []string{"resolve 7"}},
		"it may run again and had calls": {func(a *Actor) {
			create(a, true, true)
			breaks(a)
		}, []string{"death 7", "death? 7"}},
	} {
		p, r := resuming(t)
		a := p.addActor(ids.Actor{7}, "A", 0)
		x.make(a)
		r.Resume(nil)
		if got := p.askedOf(); !slices.Equal(got, x.want) {
			t.Errorf("%s: the daemon is asked %q, want %q", what, got, x.want)
		}
	}
}

// An actor may have been killed while its constructor ran. Its successor lets go of what the constructor was called with.
func TestResume_KilledDuringItsConstructor_ArgumentsAreLetGoOf(t *testing.T) {
	p, r := resuming(t)
	o := p.table.New(0, 0)
	p.table.Pin(o)
	p.table.PutInline(o, []byte("value"), 5)
	a := p.addActor(ids.Actor{7}, "A", 0)
	a.Die(fault.New(fault.ActorDied, "it was killed"), nil)
	tm := &Template{Kind: frame.KindTask, Name: "A", Returns: 1}
	setConstructor(a, &Task{Template: tm, Arguments: arguments.Of(nil, nil, []*refs.Object{o}, nil)}, true, false)
	r.Resume(nil)
	k, _ := a.Creation()
	if got := p.askedOf(); got != nil || k != nil || p.Creating() || p.table.Find(o.ID) != nil {
		t.Errorf("the daemon is asked %q; its constructor is kept: %v, and the argument: %v", got, k != nil, p.table.Find(o.ID) != nil)
	}
}

// A successor begins the tasks that wait for nothing. It does not begin tasks that run, that wait for arguments or that are in the queue of their actor.
func TestResume_BeginsTheTasksThatWaitForNothing(t *testing.T) {
	p, r := resuming(t)
	tm := &Template{Kind: frame.KindMethod, Name: "A.m", Method: "m", Returns: 1}
	a := p.addActor(ids.Actor{7}, "A", 0)
	r.tasks = []*Task{{Template: tm, actor: a}, {Template: tm, actor: a, aside: true}, {Template: tm, actor: a, aside: true, Waiting: 1}, {Template: tm, actor: a, aside: true}}
	r.s.Tasks = make([]snapshot.Task, len(r.tasks))
	r.s.Tasks[3].Place = snapshot.PlaceSent
	r.Resume(nil)
	if got := p.askedOf(); !slices.Equal(got, []string{"resolve 7"}) {
		t.Errorf("the daemon is asked %q", got)
	}
	var queued []*Task
	a.Queue.Each(func(x *Task) { queued = append(queued, x) })
	if !slices.Equal(queued, r.tasks[1:2]) {
		t.Errorf("%d calls are in the actor's queue, want the one that waits for nothing", len(queued))
	}
	if r.tasks[1].aside || !r.tasks[2].aside || !r.tasks[3].aside {
		t.Errorf("calls that run again are not in the actor's queue: %v, %v, %v", r.tasks[1].aside, r.tasks[2].aside, r.tasks[3].aside)
	}
}

// A successor gives back the leases that the daemon has and the snapshot has not. Leases that the daemon has no more are broken.
func TestResume_LeasesAreAsTheDaemonHasThem(t *testing.T) {
	p, r := resuming(t)
	same, broken := &Lease{ID: 3}, &Lease{ID: 4}
	p.Leases[3], p.Leases[4] = same, broken
	r.Resume([]uint64{3, 5})
	if want := []any{wire.LeaseReturn{LeaseID: 5}}; !slices.Equal(p.pushed, want) {
		t.Errorf("the daemon is told %+v, want %+v", p.pushed, want)
	}
	if same.Broken || !broken.Broken {
		t.Errorf("the lease that both have is broken: %v; the other one: %v", same.Broken, broken.Broken)
	}
}

// The calls of an actor with concurrency groups overtake a call of another group that waits, also when their
// process has handed over meanwhile. A group that is full still takes none.
func TestResume_ConcurrencyGroups_AreStillApart(t *testing.T) {
	x := captured(t)
	a := x.addActor(ids.Actor{7}, "A", 0)
	a.grouped = true
	a.SetToken(x.table.New(0, 0))
	x.table.AddBorrower(a.Token(), ids.Owner{9})
	call := func(group string, dep *refs.Object) *Task {
		tm := &Template{Kind: frame.KindMethod, Name: "A." + group, Method: "m", Returns: 1, Group: group}
		x.addTemplate(tm)
		k := &Task{Template: tm, First: x.table.New(1, 1).ID.Count(), Returns: 1, actor: a}
		x.Count(k)
		a.Pending++
		a.HoldCall()
		if dep != nil {
			k.AddDependency(dep)
			x.table.Pin(dep)
			x.waitFor(k, dep)
		}
		return k
	}
	sent := call("", nil)
	sent.Seq = 1
	a.Channel = withPipe(NewChannel(&x.Submitter, "/actor"), new(silentPipe))
	a.Channel.Actor, a.Channel.seq = a, 1
	a.Channel.sent.Add(sent.Seq, sent)
	a.Channel.fill("full")
	for _, k := range []*Task{call("late", x.table.New(1, 1)), call("full", nil), call("free", nil)} {
		a.Queue.push(k)
	}
	next, r := successorOf(t, x.process)
	r.Resume(nil)
	b := next.Actors[a.ID]
	var queued []string
	b.Queue.Each(func(k *Task) { queued = append(queued, k.Template.Group) })
	if !slices.Equal(queued, []string{"late", "full"}) || b.Channel.sent.Len() != 2 {
		t.Errorf("calls of the groups %q are queued, and %d are sent; want those that are late and full, and 2", queued, b.Channel.sent.Len())
	}
	b.Channel.sent.TakeAll()
}
