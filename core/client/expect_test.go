package client

import (
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

// spilled puts values of these sizes, of which the daemon tells places one by one. A size of 0
// is a small value, which is in this process.
func spilled(t *testing.T, d *fakeDaemon, c *Client, sizes ...int) (list []ids.Object, objs []*refs.Object, asked func() []ids.Object) {
	t.Helper()
	var seen []ids.Object
	d.answers(wire.TObjPin, func(m *wire.Message) bool {
		var q wire.ObjRef
		_ = m.Decode(&q)
		seen = append(seen, ids.Object(q.ObjectID))
		return false
	})
	for _, size := range sizes {
		id, err := c.Put(&Value{Fmt: FmtBytes, Meta: []byte("x"), Bufs: [][]byte{make([]byte, size)}})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, id)
	}
	c.letGoOfViews()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, id := range list {
		o := c.table.Find(id)
		if far(o) != (sizes[i] > 0) {
			t.Fatalf("value %d is in the store: %v", i, far(o))
		}
		objs = append(objs, o)
	}
	return list, objs, func() []ids.Object {
		d.mu.Lock()
		defer d.mu.Unlock()
		return slices.Clone(seen)
	}
}

// takesValue is the program that gets a value and lets it go.
func takesValue(t *testing.T, c *Client, id ids.Object) {
	t.Helper()
	f, err := c.Get(id, testLimit)
	if err != nil || f == nil {
		t.Fatalf("%v, %v", f, err)
	}
	c.Release(Drop{View: f.View})
}

// Only a list of two or more values that are elsewhere is worth a note.
func TestExpect_FewerThanTwoFarValues_NothingIsExpected(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	_, objs, _ := spilled(t, d, c, 1<<20, 0, 1<<20)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.expect(objs[:2]); c.expected != nil {
		t.Errorf("of one far value %d are expected", len(c.expected))
	}
	c.expect(objs)
	if want := []ids.Object{objs[0].ID, objs[2].ID}; !slices.Equal(c.expected, want) {
		t.Errorf("%d values are expected, want the two that are elsewhere", len(c.expected))
	}
}

// With a value those that follow it are asked for, each once and in order, as far as
// they fit into a share of the arena. What is gone or at hand is passed over, and what is
// taken out of the order does not begin anything.
func TestAskAhead_FollowingValues_AsFarAsThereIsRoom(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	third := int(d.size)/aheadShare/3 - 4096
	list, objs, asked := spilled(t, d, c, 1<<20, third, 1<<20, 1<<20, third, third, third, 1<<20, 1<<20)
	c.Release(Drop{Object: list[2]})
	takesValue(t, c, list[3]) // it is at hand from now on
	c.mu.Lock()
	c.takeDrops()
	c.expect(append(slices.Clone(objs[:2]), objs[4:8]...))
	c.expected = slices.Insert(c.expected, 2, list[2], list[3])
	c.mu.Unlock()
	before := len(asked())
	takesValue(t, c, list[8]) // is not of that list
	if got := asked()[before:]; !slices.Equal(got, list[8:]) {
		t.Errorf("for a value of another list %d places are asked for", len(got))
	}
	before = len(asked())
	takesValue(t, c, list[0])
	d.eventually("those ahead are asked for", func() bool { return d.asked >= before+4 })
	want := []ids.Object{list[0], list[1], list[4], list[5]}
	if got := asked()[before:]; !slices.Equal(got, want) {
		t.Errorf("%d places are asked for, want those of the values 0, 1, 4 and 5", len(got))
	}
	c.mu.Lock()
	if len(c.expected) != 7 || c.expected[0] != list[1] {
		t.Errorf("%d values are expected, want the 7 that follow", len(c.expected))
	}
	c.mu.Unlock()
	takesValue(t, c, list[6])
	takesValue(t, c, list[7])
	for _, id := range []ids.Object{list[1], list[4], list[5]} {
		takesValue(t, c, id)
	}
	if n := len(asked()); n != before+6 {
		t.Errorf("%d places were asked for, want 6: those that are here already are not asked for again", n-before)
	}
	letGo(t, c, slices.Concat(list[:2], list[3:])...)
	d.eventually("nothing stays pinned", func() bool { return d.pins == 0 })
}

// A value that is asked for ahead and whose last reference goes meanwhile does not stay pinned.
func TestAskAhead_ValueIsLetGoMeanwhile_IsNotKept(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	list, objs, asked := spilled(t, d, c, 1<<20, 1<<20)
	d.mu.Lock()
	d.holdPins = 3
	d.mu.Unlock()
	c.mu.Lock()
	c.expect(objs)
	c.mu.Unlock()
	got := make(chan struct{})
	go func() {
		defer close(got)
		takesValue(t, c, list[0])
	}()
	d.eventually("both are asked for", func() bool { return d.asked == 2 })
	c.Release(Drop{Object: list[1]})
	c.mu.Lock()
	c.takeDrops()
	c.mu.Unlock()
	d.mu.Lock()
	for _, l := range d.late {
		_ = l.m.Reply(l.at)
	}
	d.late = nil
	d.mu.Unlock()
	<-got
	letGo(t, c, list[0])
	d.eventually("nothing stays pinned", func() bool { return d.pins == 0 })
	if n := len(asked()); n != 2 {
		t.Errorf("%d places were asked for", n)
	}
}
