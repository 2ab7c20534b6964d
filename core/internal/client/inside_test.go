package client

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/store"
)

// borrowsInside is how many objects a process borrows when all owners have answered it:
// before that it may keep what it has let go of.
func borrowsInside(t *testing.T, c *Client) int {
	t.Helper()
	waitFor(t, "all owners have answered", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.TakeDrops()
		return c.table.Unregistered() == 0 && c.table.LateDrops() == 0
	})
	_, borrowed := c.Holds()
	return borrowed
}

// A value that was borrowed keeps what is inside of it when the program takes the
// references out of that value: they are given back with the value, and not before.
func TestKeepInside_TableOfTheValueThatWasGot_ItKeepsWhatIsInside(t *testing.T) {
	d := startDaemon(t)
	owner, c := d.driver(), d.driver()
	holds := func(what string, want int) {
		t.Helper()
		if borrowed := borrowsInside(t, c); borrowed != want {
			t.Errorf("%s: %d objects are borrowed, want %d", what, borrowed, want)
		}
	}
	valueOf := func(n int) (outer ids.Object, inner []ids.Object) {
		list, objs := owned(owner, n)
		table, err := owner.RefTable(list)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objs {
			inner = append(inner, o.ID)
		}
		outer, err = owner.Put(&Value{Fmt: uint8(store.FormatPickleRefs), Meta: append(table, "pickle"...), Nested: inner})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Import(outer, owner.info.Addr, 0); err != nil {
			t.Fatal(err)
		}
		return outer, inner
	}
	tableIn := func(outer ids.Object) []byte {
		t.Helper()
		f, err := c.Get(outer, testLimit)
		if err != nil || f == nil {
			t.Fatal(f, err)
		}
		e, err := store.Parse(f.Envelope)
		if err != nil {
			t.Fatal(err)
		}
		return e.Meta
	}
	lets := func(h *half, n int) {
		for i := range n {
			h.letGo(i)
		}
	}
	outer, _ := valueOf(3)
	other, _ := valueOf(2)
	for range 2 { // the second time the value has them already
		lets(takeAll(t, c, tableIn(outer), 3), 3)
		holds("after the program has let go of what is inside", 2+3)
	}
	first := tableIn(other)
	tableIn(outer) // was got later, and knows what is inside
	lets(takeAll(t, c, first, 2), 2)
	holds("after the value that was got last gave nothing", 2+3+2)
	c.Release(Drop{Object: outer})
	c.Release(Drop{Object: other})
	holds("after the values are let go of", 0)
}

// A table that is not that of the value which was got last keeps nothing.
func TestKeepInside_AnotherTable_KeepsNothing(t *testing.T) {
	d := startDaemon(t)
	owner, c := d.driver(), d.driver()
	list, _ := owned(owner, 2)
	table, err := owner.RefTable(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []uint8{uint8(store.FormatPickleRefs), FmtPickle} {
		outer, err := owner.Put(&Value{Fmt: format, Meta: append(append([]byte(nil), table...), "pickle"...), Nested: []ids.Object{*list[0], *list[1]}})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Import(outer, owner.info.Addr, 0); err != nil {
			t.Fatal(err)
		}
		f, err := c.Get(outer, testLimit)
		if err != nil || f == nil {
			t.Fatal(f, err)
		}
		copied := append([]byte(nil), table...) // it is elsewhere
		if format == FmtPickle {
			e, err := store.Parse(f.Envelope)
			if err != nil {
				t.Fatal(err)
			}
			copied = e.Meta
		}
		h := takeAll(t, c, copied, 2)
		h.letGo(0)
		h.letGo(1)
		if borrowed := borrowsInside(t, c); borrowed != 1 {
			t.Errorf("format %d: %d objects are borrowed, want the value", format, borrowed)
		}
		c.Release(Drop{Object: outer})
	}
}
