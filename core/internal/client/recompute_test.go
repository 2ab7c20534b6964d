package client

import (
	"slices"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/transport"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// holdChecks keeps the daemon's answers to the questions which copies it has back; release
// answers one of them, and asked says of how many objects each question was.
func (d *fakeDaemon) holdChecks() (asked func() []int, release func(lacks ...ids.Object)) {
	var sizes []int
	var waiting []*wire.Message
	d.answers(wire.TObjCheck, func(m *wire.Message) bool {
		var q wire.ObjRefs
		_ = m.Decode(&q)
		sizes = append(sizes, len(q.ObjectIDs))
		waiting = append(waiting, m)
		return true
	})
	asked = func() []int {
		d.mu.Lock()
		defer d.mu.Unlock()
		return slices.Clone(sizes)
	}
	return asked, func(lacks ...ids.Object) {
		d.t.Helper()
		var m *wire.Message
		d.eventually("the daemon is asked", func() bool {
			if len(waiting) > 0 {
				m, waiting = waiting[0], waiting[1:]
			}
			return m != nil
		})
		var r wire.ObjMissing
		for _, id := range lacks {
			r.ObjectIDs = append(r.ObjectIDs, id.Raw())
		}
		_ = m.Reply(r)
	}
}

// missing has a process find out that the store has no copies of these.
func missing(c *Client, list ...ids.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range list {
		c.table.Missed(c.table.Find(id))
	}
}

// hasGivenBack waits until a process holds nothing of others.
func hasGivenBack(t *testing.T, c *Client) {
	t.Helper()
	waitFor(t, "nothing is borrowed", func() bool { _, borrowed := c.Holds(); return borrowed == 0 })
}

// The daemon is asked about what is to be looked for with one question at a time, of a bounded
// number of objects. What it has after all is ready again.
func TestAskUnverified_VeryMany_OneBoundedQuestionAtATime(t *testing.T) {
	d := startDaemon(t)
	asked, release := d.holdChecks()
	c := d.driver()
	const n = transport.MaxBatch + 3
	var list []*refs.Object
	c.mu.Lock()
	for range n {
		o := c.table.New(0, 1)
		c.table.PutStored(o, 1, false)
		list = append(list, o)
	}
	for _, o := range list {
		c.table.VerifyCopy(o)
	}
	c.mu.Unlock()
	release()
	release()
	release()
	waitFor(t, "all are ready again", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return !slices.ContainsFunc(list, func(o *refs.Object) bool { return o.State() != refs.Stored })
	})
	if got := asked(); !slices.Equal(got, []int{1, transport.MaxBatch, 2}) {
		t.Errorf("the questions are of %d objects", got)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.table.Unverified()); n != 0 {
		t.Errorf("%d objects are to be verified", n)
	}
}

// What nobody holds any more when the daemon has answered is not computed again, and nothing is asked about nothing.
func TestLooked_ObjectIsLetGoMeanwhile_NothingRuns(t *testing.T) {
	d, c, m, list := computed(t, 2, 3)
	m.worker.unpinUnused()
	asked, release := d.holdChecks()
	d.loses(list...)
	missing(c, list...)
	c.Release(Drop{Object: list[0]})
	c.Release(Drop{Object: list[1]})
	release(list...)
	letGo(t, c)
	if ran := m.ran(); ran != "f" {
		t.Errorf("ran %q", ran)
	}
	if err := c.daemon.Call(t.Context(), wire.TObjStats, nil, nil); err != nil {
		t.Fatal(err)
	}
	if got := asked(); !slices.Equal(got, []int{2}) {
		t.Errorf("the questions are of %d objects", got)
	}
}

// The place of a lost copy, which the process keeps for the next get, is forgotten: that get is of the new copy.
func TestLooked_PlaceOfTheLostCopyIsKept_NextGetIsOfTheNewOne(t *testing.T) {
	d, c, _, list := computed(t, 1, 3)
	ref := list[0]
	expectOutcome(t, c, "the first run", ref, "f0.1,", "")
	c.mu.Lock()
	c.TakeDrops()
	if !c.local.Has(ref) {
		t.Error("the place is not kept")
	}
	c.mu.Unlock()
	d.loses(ref)
	missing(c, ref)
	expectOutcome(t, c, "the second run", ref, "f0.2,", "")
	letGo(t, c, ref)
}

// A small value that went to the store as an argument among many is still in this process when its copy is lost.
func TestRecompute_SmallValueThatWasMoved_ComesBackAtOnce(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	ref := putBytes(t, c, 2*frame.SmallValue, 7)
	c.mu.Lock()
	o := c.table.Find(ref)
	if err := c.local.AwaitPromotion([]*refs.Object{o}); err != nil || o.State() != refs.Stored {
		t.Fatalf("moved: %v, state %d", err, o.State())
	}
	c.mu.Unlock()
	d.loses(ref)
	missing(c, ref)
	holdsBytes(t, c, ref, 2*frame.SmallValue, 7)
	c.mu.Lock()
	if o.State() != refs.Inline {
		t.Errorf("its state is %v", o.State())
	}
	c.mu.Unlock()
	letGo(t, c, ref)
}

// What a task took that others own is borrowed again when the task runs again: its
// arguments, and what was inside them. What of it is this process's own is held again, too.
func TestTakeAgain_ReferencesOfOthers_AreBorrowedAgain(t *testing.T) {
	d := startDaemon(t)
	var m made
	worker := d.makes(&m)
	c, other := d.driver(), d.driver()
	var its []ids.Object
	for _, text := range []string{"argument", "inside"} {
		id, err := other.Put(&Value{Fmt: FmtBytes, Meta: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		addr, err := other.Export(id)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Import(id, addr, 0); err != nil {
			t.Fatal(err)
		}
		its = append(its, id)
	}
	mine := putBytes(t, c, 10, 1)
	ref, _, err := c.Submit(&Call{
		Template: tasks(t, c, "f", 1, 3), Deps: its[:1],
		Args: Value{Fmt: FmtPickle, Meta: []byte("x"), Nested: []ids.Object{its[1], mine}},
	})
	if err != nil {
		t.Fatal(err)
	}
	expectOutcome(t, c, "the first run", ref, "f0.1,x,argument", "")
	for _, id := range append(slices.Clone(its), mine) {
		c.Release(Drop{Object: id})
	}
	hasGivenBack(t, c)
	worker.unpinUnused()
	c.unpinUnused()
	goOn := make(chan struct{})
	d.answers(wire.TLeaseWant, func(*wire.Message) bool {
		select {
		case <-goOn:
			return false
		default:
			return true // no lease comes before the test has looked
		}
	})
	waitFor(t, "no lease is left", func() bool { c.mu.Lock(); defer c.mu.Unlock(); return len(c.submit.Leases) == 0 })
	d.loses(ref)
	missing(c, ref)
	var again *submit.Task
	waitFor(t, "the task waits for its second run", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		again = submit.TaskOf(c.table.Find(ref).Source())
		return again != nil && again.Waiting == 0
	})
	c.mu.Lock()
	for _, id := range append(slices.Clone(its), mine) {
		o := c.table.Find(id)
		if o == nil || o.Pins() == 0 {
			t.Errorf("%s is not held for the second run: %+v", id, o)
		}
	}
	k := again.Template.Class
	c.mu.Unlock()
	close(goOn)
	c.mu.Lock()
	k.Want = 0 // the daemon did not hear of it
	c.submit.AdjustWant(k)
	c.mu.Unlock()
	expectOutcome(t, c, "the second run", ref, "f0.2,x,argument", "")
	hasGivenBack(t, c)
	letGo(t, c, ref)
	letGo(t, other, its...)
}

// What the call of an actor returned cannot be computed again once the actor has ended; the error says so.
func TestRecompute_ActorHasEnded_ItsLostResultFails(t *testing.T) {
	d := startDaemon(t)
	var id ids.Actor
	a := d.act(0, func(_ uint64, w *Client, it *Item) {
		if err := w.Reply(it.Token, []Value{large("x")}, 0); err != nil {
			panic(err)
		}
	})
	c := d.driver()
	id = newActor(t, c, ActorSpec{})
	tm := method(t, c, 3)
	first, second := callActor(t, c, id, tm, "x"), callActor(t, c, id, tm, "x")
	for _, ref := range []ids.Object{first, second} {
		waitFor(t, "the result is there", func() bool { ready, _ := c.Ready(ref); return ready })
	}
	d.loses(first, second)
	a.die(id, true)
	probe := callActor(t, c, id, method(t, c, 0), "x")
	expectOutcome(t, c, "a call of the dead actor", probe, "", fault.ActorDied)
	missing(c, first)
	if code, words, _ := faultIn(t, c, first); code != fault.ActorDied || !strings.Contains(words, "it is dead") {
		t.Errorf("with a handle left: %s, %s", code, words)
	}
	c.Release(Drop{Object: c.ActorTokenID(id)})
	letGoOfHandles := func() bool { c.mu.Lock(); defer c.mu.Unlock(); c.TakeDrops(); return c.submit.Actors[id] == nil }
	waitFor(t, "the last handle is gone", letGoOfHandles)
	missing(c, second)
	if code, _, _ := faultIn(t, c, second); code != fault.ActorDied {
		t.Errorf("without a handle: %s", code)
	}
	letGo(t, c, first, second, probe)
}

// A call of an actor that is to run again and waits for its argument fails when the actor ends meanwhile.
func TestBegin_ActorEndsWhileTheArgumentIsMadeAgain_CallFails(t *testing.T) {
	d := startDaemon(t)
	var m made
	worker := d.makes(&m)
	a := d.act(0, func(_ uint64, w *Client, it *Item) {
		if err := w.Reply(it.Token, []Value{large("called")}, 0); err != nil {
			panic(err)
		}
		for _, f := range it.Deps {
			w.Release(Drop{View: f.View})
		}
	})
	c := d.driver()
	arg := results(t, c, tasks(t, c, "f", 1, 3), 1, "")[0]
	id := newActor(t, c, ActorSpec{})
	call := callActor(t, c, id, method(t, c, 3), "x", arg)
	waitFor(t, "the result is there", func() bool { ready, _ := c.Ready(call); return ready })
	worker.unpinUnused()
	d.eventually("the actor lives", func() bool { return a.alive })
	a.worker.unpinUnused()
	asked, release := d.holdChecks()
	d.loses(arg, call)
	missing(c, call)
	release(call)
	waitFor(t, "the argument is looked for", func() bool { return len(asked()) == 2 })
	a.die(id, true)
	probe := callActor(t, c, id, method(t, c, 0), "x")
	expectOutcome(t, c, "a call of the dead actor", probe, "", fault.ActorDied)
	release(arg)
	expectOutcome(t, c, "the call that was to run again", call, "", fault.ActorDied)
	expectOutcome(t, c, "the argument", arg, "f0.2,", "")
	letGo(t, c, arg, call, probe, c.ActorTokenID(id))
}
