package client

import (
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/localstore"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// idleTest is a worker that echoes, a driver, and some stored objects of the driver's.
type idleTest struct {
	t      *testing.T
	d      *fakeDaemon
	worker *Client
	driver *Client
	tmpl   int
}

func startIdle(t *testing.T, rest time.Duration, run func(c *Client, it *Item)) *idleTest {
	x := &idleTest{t: t, d: startDaemon(t)}
	x.worker = x.d.worker(run)
	x.worker.mu.Lock()
	x.worker.local.SetTimes(localstore.Times{Idle: rest})
	x.worker.mu.Unlock()
	x.driver = x.d.driver()
	x.tmpl = template(t, x.driver, "size")
	return x
}

// size answers with nothing, and looks at its arguments until then.
func size(c *Client, it *Item) {
	if err := c.Reply(it.Token, []Value{{Fmt: FmtNone}}, 0); err != nil {
		panic(err)
	}
	for _, f := range it.Deps {
		if f.View != 0 {
			c.Release(Drop{View: f.View})
		}
	}
}

func (x *idleTest) put() ids.Object {
	x.t.Helper()
	id, err := x.driver.Put(&Value{Bufs: [][]byte{make([]byte, MaxInline+1)}})
	if err != nil {
		x.t.Fatal(err)
	}
	return id
}

func (x *idleTest) submit(id ids.Object) ids.Object {
	x.t.Helper()
	r, _, err := x.driver.Submit(&Call{Template: x.tmpl, Deps: []ids.Object{id}})
	if err != nil {
		x.t.Fatal(err)
	}
	return r
}

func (x *idleTest) call(id ids.Object) {
	x.t.Helper()
	r := x.submit(id)
	if f, err := x.driver.Get(r, testLimit); err != nil || f == nil || f.IsError {
		x.t.Fatalf("%+v, %v", f, err)
	}
	x.driver.Release(Drop{Object: r})
}

func (x *idleTest) push(m wire.Type, body any) {
	x.d.mu.Lock()
	p := x.d.peerOf[x.worker.Info().Worker]
	x.d.mu.Unlock()
	if err := p.Push(m, body); err != nil {
		x.t.Error(err)
	}
}

// heard waits until the worker has handled what was pushed to it: it handles one message after the other.
func (x *idleTest) heard() {
	x.d.mu.Lock()
	p := x.d.peerOf[x.worker.Info().Worker]
	x.d.mu.Unlock()
	if err := p.Call(x.t.Context(), wire.TRunning, nil, nil); err != nil {
		x.t.Error(err)
	}
}

func (x *idleTest) pins() (held, asked int) {
	x.d.mu.Lock()
	defer x.d.mu.Unlock()
	return x.d.pins, x.d.asked
}

func TestIdleView_NextTask_AsksNobody(t *testing.T) {
	x := startIdle(t, time.Hour, size)
	a, b := x.put(), x.put()
	for range 50 {
		x.call(a)
		x.call(b)
	}
	if held, asked := x.pins(); held != 2 || asked != 2 {
		t.Errorf("%d objects are pinned, %d were asked for", held, asked)
	}
	x.push(wire.TObjFreed, wire.ObjRefs{ObjectIDs: [][]byte{a[:]}})
	x.d.eventually("what was freed is unpinned", func() bool { return x.d.pins == 1 })
	x.push(wire.TObjLetGo, nil)
	x.d.eventually("what others need is unpinned", func() bool { return x.d.pins == 0 })
	x.call(b)
	if held, asked := x.pins(); held != 1 || asked != 3 {
		t.Errorf("%d objects are pinned, %d were asked for", held, asked)
	}
}

func TestIdleView_AfterAWhile_IsUnpinned(t *testing.T) {
	x := startIdle(t, 20*time.Millisecond, size)
	for range 3 {
		x.call(x.put())
	}
	x.d.eventually("all are unpinned", func() bool { return x.d.pins == 0 })
	x.worker.mu.Lock()
	defer x.worker.mu.Unlock()
	if n := x.worker.local.Count(); n != (localstore.Counts{}) {
		t.Errorf("left: %+v", n)
	}
}

func TestIdleView_FreedWhileATaskLooks_GoesWithTheTask(t *testing.T) {
	looks, goOn := make(chan struct{}), make(chan struct{})
	x := startIdle(t, time.Hour, func(c *Client, it *Item) {
		looks <- struct{}{}
		<-goOn
		size(c, it)
	})
	id := x.put()
	x.submit(id)
	<-looks
	x.push(wire.TObjFreed, wire.ObjRefs{ObjectIDs: [][]byte{id[:]}})
	x.heard()
	if held, _ := x.pins(); held != 1 {
		t.Errorf("%d objects are pinned while a task looks at one", held)
	}
	close(goOn)
	x.d.eventually("it is unpinned with the task", func() bool { return x.d.pins == 0 })
}

// idleMost is how many views localstore keeps.
const idleMost = 256

func TestIdleView_Many_TheLatestStay(t *testing.T) {
	x := startIdle(t, time.Hour, size)
	var list []ids.Object
	for range idleMost + 10 {
		list = append(list, x.put())
		x.call(list[len(list)-1])
	}
	x.d.eventually("no more than the most", func() bool { return x.d.pins == idleMost })
	_, before := x.pins()
	for _, id := range list[10:] {
		x.call(id)
	}
	if _, asked := x.pins(); asked != before {
		t.Errorf("%d of the latest were asked for again", asked-before)
	}
	x.call(list[0])
	if _, asked := x.pins(); asked != before+1 {
		t.Errorf("the oldest was not given up: %d asked for, %d before", asked, before)
	}
}

// A reference keeps what it refers to mapped for the next get, until its owner lets go of the value.
func TestIdleView_FreedWhileOnlyAReferenceKeepsIt_IsUnpinned(t *testing.T) {
	x := startIdle(t, time.Hour, size)
	id := x.put()
	addr, err := x.driver.Export(id)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.worker.Import(id, addr, 0); err != nil {
		t.Fatal(err)
	}
	look := func() *Found {
		f, err := x.worker.Get(id, testLimit)
		if err != nil || f == nil || f.View == 0 {
			t.Fatalf("%+v, %v", f, err)
		}
		return f
	}
	x.worker.Release(Drop{View: look().View})
	if held, _ := x.pins(); held != 1 {
		t.Fatalf("%d objects are pinned for the next get", held)
	}
	x.push(wire.TObjFreed, wire.ObjRefs{ObjectIDs: [][]byte{id[:]}})
	x.d.eventually("it is unpinned, though the reference is held", func() bool { return x.d.pins == 0 })

	f := look()
	x.push(wire.TObjFreed, wire.ObjRefs{ObjectIDs: [][]byte{id[:]}})
	x.heard()
	if n, _ := x.pins(); n != 1 {
		t.Errorf("%d objects are pinned while the program looks at one", n)
	}
	again := look() // at the same memory
	if again.View != f.View {
		t.Error("a value that is looked at is mapped twice")
	}
	x.worker.Release(Drop{View: again.View})
	if held, _ := x.pins(); held != 1 {
		t.Errorf("%d objects are pinned while the program looks at one", held)
	}
	x.worker.Release(Drop{View: f.View})
	x.d.eventually("it is unpinned with the last look", func() bool { return x.d.pins == 0 })
}
