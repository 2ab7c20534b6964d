package client

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/store"
)

// storedObjects are objects that the store has, and that this process does not look at.
func storedObjects(t *testing.T, d *fakeDaemon, c *Client, n int) (list []ids.Object) {
	t.Helper()
	for range n {
		id, err := c.Put(&Value{Bufs: [][]byte{make([]byte, MaxInline+1)}})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, id)
	}
	c.unpinUnused()
	d.eventually("nothing is pinned", func() bool { return d.pins == 0 })
	return list
}

// What the program does not look at goes when the room is needed; what it looks at stays.
func TestUnpinUnused_OnlyWhatNobodyLooksAt(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	list := storedObjects(t, d, c, 2)
	seen, err := c.Get(list[0], testLimit)
	if err != nil {
		t.Fatal(err)
	}
	other, err := c.Get(list[1], testLimit)
	if err != nil {
		t.Fatal(err)
	}
	c.Release(Drop{View: other.View})
	c.unpinUnused()
	c.mu.Lock()
	if a, b := c.table.Find(list[0]), c.table.Find(list[1]); a.Copy() == nil || b.Copy() != nil || c.local.Has(list[1]) {
		t.Errorf("the one that is looked at: %v, the other: %v", a.Copy(), b.Copy())
	}
	c.mu.Unlock()
	d.eventually("one is pinned", func() bool { return d.pins == 1 })
	if _, err := store.Parse(seen.Envelope); err != nil {
		t.Error(err)
	}
	c.Release(Drop{View: seen.View})
}
