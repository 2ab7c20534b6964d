package client

import (
	"fmt"
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

// asksOfActors notes what the daemon is asked about actors, each question as a word and the actor's first byte. It answers nothing.
func (d *fakeDaemon) asksOfActors() (list func() []string) {
	var seen []string
	note := func(what string, actor []byte) bool {
		seen = append(seen, fmt.Sprint(what, " ", actor[0]))
		return true
	}
	d.answers(wire.TActorCreate, func(m *wire.Message) bool {
		var q wire.ActorCreate
		_ = m.Decode(&q)
		return note("create", q.ActorID)
	})
	d.answers(wire.TActorResolve, func(m *wire.Message) bool {
		var q wire.ActorResolve
		_ = m.Decode(&q)
		return note("resolve", q.ActorID)
	})
	d.answers(wire.TActorLost, func(m *wire.Message) bool {
		var q wire.ActorLost
		_ = m.Decode(&q)
		if q.Incarnation == wire.ActorNever {
			return note("death", q.ActorID)
		}
		return note("death?", q.ActorID)
	})
	return func() []string {
		d.mu.Lock()
		defer d.mu.Unlock()
		got := slices.Clone(seen)
		slices.Sort(got)
		return got
	}
}

// wakes sets an heir going that has these actors, tasks and leases, and waits until the daemon has heard what it says.
func wakes(t *testing.T, c *Client, prepare func(h *heir)) {
	t.Helper()
	h := &heir{c: c, w: new(will)}
	c.mu.Lock()
	prepare(h)
	h.wake(&wire.Inherited{})
	c.mu.Unlock()
	if err := c.daemon.Call(t.Context(), wire.TObjStats, nil, nil); err != nil {
		t.Fatal(err)
	}
}

// An heir asks after each actor what its parent was about to ask, and nothing of an actor that needs nothing.
func TestHeir_Wakes_AsksOfEachActorWhatIsToBeKnown(t *testing.T) {
	newCall := func() *task { return &task{tmpl: &Template{Kind: KindMethod, Name: "A.m", Method: "m", Returns: 1}} }
	newCreation := func() *creation {
		return &creation{task: new(task), tmpl: &Template{Kind: KindTask, Name: "A", FID: []byte("sixteen bytes id"), Returns: 1}, req: new(wire.ActorCreate)}
	}
	for what, x := range map[string]struct {
		make func(a *actor)
		want []string
	}{
		"it needs nothing":                      {func(*actor) {}, nil},
		"its constructor may run again":         {func(a *actor) { a.creation = newCreation(); a.creation.announce, a.creation.again = true, true }, []string{"death 7"}},
		"it is not registered":                  {func(a *actor) { a.creation = newCreation(); a.creation.req.ActorID = a.id[:] }, []string{"create 7"}},
		"it is registered and does not run yet": {func(a *actor) { a.creation = newCreation(); a.creation.announce = true }, []string{"resolve 7"}},
		"its process had calls":                 {func(a *actor) { a.sent, a.broken = []*task{newCall()}, &brokenConn{3} }, []string{"death? 7"}},
		"its calls were sent":                   {func(a *actor) { a.sent = []*task{newCall()} }, []string{"resolve 7"}},
		"calls wait":                            {func(a *actor) { a.queue.push(newCall()) }, []string{"resolve 7"}},
		"it may run again and had calls": {func(a *actor) {
			a.creation, a.sent, a.broken = newCreation(), []*task{newCall()}, &brokenConn{3}
			a.creation.announce, a.creation.again = true, true
		}, []string{"death 7", "death? 7"}},
	} {
		d := startDaemon(t)
		asked := d.asksOfActors()
		c := d.driver()
		a := &actor{id: ids.Actor{7}}
		wakes(t, c, func(h *heir) {
			x.make(a)
			c.actors[a.id] = a
		})
		if got := asked(); !slices.Equal(got, x.want) {
			t.Errorf("%s: the daemon is asked %q, want %q", what, got, x.want)
		}
		c.mu.Lock()
		delete(c.actors, a.id)
		c.mu.Unlock()
	}
}

// An heir begins the tasks that wait for nothing: not those that run, that wait for arguments or that are in their actor's queue.
func TestHeir_Wakes_BeginsTheTasksThatWaitForNothing(t *testing.T) {
	d := startDaemon(t)
	asked := d.asksOfActors()
	c := d.driver()
	tm := &Template{Kind: KindMethod, Name: "A.m", Method: "m", Returns: 1}
	a := &actor{id: ids.Actor{7}}
	tasks := []*task{{tmpl: tm, actor: a}, {tmpl: tm, actor: a, aside: true}, {tmpl: tm, actor: a, aside: true, waiting: 1}, {tmpl: tm, actor: a, aside: true}}
	wakes(t, c, func(h *heir) {
		c.actors[a.id] = a
		h.tasks = tasks
		h.w.Tasks = make([]willTask, len(tasks))
		for i := range h.w.Tasks {
			h.w.Tasks[i].Place = taskWaits
		}
		h.w.Tasks[3].Place = taskSent
	})
	if got := asked(); !slices.Equal(got, []string{"resolve 7"}) {
		t.Errorf("the daemon is asked %q", got)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if queued := a.queue.all(); !slices.Equal(queued, tasks[1:2]) {
		t.Errorf("%d calls are in the actor's queue, want the one that waits for nothing", len(queued))
	}
	if tasks[1].aside || !tasks[2].aside || !tasks[3].aside {
		t.Errorf("tasks that run again are not in the actor's queue: %v, %v, %v", tasks[1].aside, tasks[2].aside, tasks[3].aside)
	}
	a.queue = fifo{}
	delete(c.actors, a.id)
}

// An heir asks the owner again for what its parent has asked for and not got.
func TestHeir_Wakes_AsksOwnersAgain(t *testing.T) {
	d := startDaemon(t)
	owner, c := d.driver(), d.driver()
	awaited, known, idle := putBytes(t, owner, 10, 1), putBytes(t, owner, 10, 1), putBytes(t, owner, 10, 1)
	objects := map[ids.Object]*refs.Object{}
	wakes(t, c, func(*heir) {
		for _, id := range []ids.Object{awaited, known, idle} {
			objects[id] = c.borrow(id, owner.info.Addr)
			c.table.Pin(objects[id])
			alter(objects[id], func(f *refs.Facts) { f.Asked = id != idle })
		}
		c.table.Complete(objects[known], refs.Inline, []byte("known"), 5, false)
	})
	waitFor(t, "the owner has told the value", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return objects[awaited].State().Ready()
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if string(objects[known].Value()) != "known" || objects[idle].State().Ready() || objects[idle].Asked() {
		t.Errorf("what was known is %q, and what nobody asked for is in state %v", objects[known].Value(), objects[idle].State())
	}
	for _, o := range objects {
		c.table.Unpin(o)
	}
}

// Leases that the daemon has and the heir does not know go back. Leases that the daemon has no more are broken.
func TestHeir_Compare_LeasesAreAsTheDaemonHasThem(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	same, broken := &lease{id: 3}, &lease{id: 4}
	c.mu.Lock()
	c.leases[3], c.leases[4] = same, broken
	(&heir{c: c, w: new(will)}).compare([]uint64{3, 5})
	c.mu.Unlock()
	d.eventually("the lease that nobody knows goes back", func() bool { return slices.Equal(d.returned, []uint64{5}) })
	waitFor(t, "the other lease is broken", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return broken.broken
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if same.broken {
		t.Error("a lease that both have is broken")
	}
	clear(c.leases)
}
