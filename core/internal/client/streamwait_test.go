package client

import (
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/localstore"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A wait for an item that does not come leaves nothing behind when its time is
// over, and ends with the session.
func TestNextItem_ItemDoesNotCome_TheWaitEnds(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	gen := generator(t, c, 0, Flow{Mode: FlowStream})
	for _, timeout := range []time.Duration{0, time.Millisecond} {
		id, st, err := c.NextItem(gen, timeout)
		if st != StreamWaits || err != nil || id != (ids.Object{}) {
			t.Errorf("after %v: %s, state %d, %v", timeout, id, st, err)
		}
		if st, err := c.Stream(gen); st != StreamWaits || err != nil {
			t.Errorf("the generator is in state %d, %v", st, err)
		}
	}
	c.mu.Lock()
	var o *refs.Object
	c.submit.Generators.EachHead(c.submit.Generators.Of(gen.Count()), func(_ uint64, head *refs.Object) { o = head })
	if n := len(o.Waits()); n != 0 {
		t.Errorf("%d waits are left", n)
	}
	c.mu.Unlock()
	ended := make(chan error, 1)
	go func() {
		_, _, err := c.NextItem(gen, -1)
		ended <- err
	}()
	waitFor(t, "it waits", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(o.Waits()) == 1
	})
	c.Close(0)
	if err := <-ended; err == nil || err.Error() != c.Err().Error() {
		t.Errorf("a wait that the session's end has ended: %v", err)
	}
	if _, err := c.Stream(gen); err == nil {
		t.Error("a session that has ended has a generator")
	}
}

// What a generator yields was made where the generator was called.
func TestPlace_ItemOfAGenerator_HasItsSite(t *testing.T) {
	d := startDaemon(t)
	d.worker(generate(numbers(2)))
	c := d.sited(wire.RoleDriver).c
	tm, err := c.NewTemplate(&Template{Kind: KindTask, Name: "g", FID: []byte("the generator's."), Blob: []byte("g"), Returns: 1, Flow: Flow{Mode: FlowStream}})
	if err != nil {
		t.Fatal(err)
	}
	gen, _, err := c.Submit(&Call{Template: tm, Args: Value{Fmt: FmtNone, Site: 5}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		id, st, err := c.NextItem(gen, testLimit)
		if err != nil || st != StreamItem {
			t.Fatalf("state %d, %v", st, err)
		}
		if got := c.SiteOf(id); got != "(task call) g | line 5" {
			t.Errorf("an item was made at %q", got)
		}
		c.Release(Drop{Object: id})
	}
	leave(c, gen)
	d.nothingLeft(t, c)
}

// Large objects that are held at the same time have ranges of their own, and what
// the process keeps of ranges that were used again does not grow.
func TestPutLarge_HeldAndLetGo_EachHasItsRange(t *testing.T) {
	d := startDaemon(t)
	c := d.patient()
	one, two := putBytes(t, c, localstore.ReuseFrom, 1), putBytes(t, c, localstore.ReuseFrom, 2)
	holdsBytes(t, c, one, localstore.ReuseFrom, 1)
	holdsBytes(t, c, two, localstore.ReuseFrom, 2)
	d.mu.Lock()
	a, b := d.objects[string(one[:])], d.objects[string(two[:])]
	if a.Size == 0 || b.Size == 0 || a.Offset == b.Offset {
		t.Errorf("the store has them at %+v and %+v", a, b)
	}
	d.mu.Unlock()
	c.Release(Drop{Object: one})
	c.Release(Drop{Object: two})
	for i := range 5 {
		id := putBytes(t, c, localstore.ReuseFrom, byte(i))
		holdsBytes(t, c, id, localstore.ReuseFrom, byte(i))
		c.Release(Drop{Object: id})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.local.Count(); n.Views > 2 || n.Mapped != n.Views {
		t.Errorf("%d views and %d places are kept", n.Views, n.Mapped)
	}
}
