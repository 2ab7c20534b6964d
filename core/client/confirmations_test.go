package client

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
)

// A task whose result was lost runs again, here too, and the confirmation of its
// first result may come after its second result has gone out.
func TestConfirmed_TwoRunsOfOneTask_LetsGoOfTheOldest(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	var caller ids.Owner
	var task ids.Task
	results := make([]ids.Object, 3)
	for i := range results {
		results[i] = putBytes(t, c, 10, byte(i))
	}
	c.mu.Lock()
	for _, run := range [][]ids.Object{results[:2], results[2:]} {
		var list []*refs.Object
		for _, id := range run {
			o := c.table.Find(id)
			c.table.Pin(o)
			list = append(list, o)
		}
		c.hold(caller, task, list)
	}
	c.mu.Unlock()
	for _, id := range results {
		c.Release(Drop{Object: id})
	}
	there := func() (n int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, id := range results {
			if c.table.Find(id) != nil {
				n++
			}
		}
		return n
	}
	c.mu.Lock()
	c.takeDrops()
	c.mu.Unlock()
	for i, want := range []int{3, 1, 0, 0} {
		if i > 0 {
			c.mu.Lock()
			c.table.Confirmed(caller, task)
			c.mu.Unlock()
		}
		if n := there(); n != want {
			t.Errorf("after %d confirmations %d objects are there, want %d", i, n, want)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.table.Unconfirmed() {
		t.Error("a caller is kept that has nothing to confirm")
	}
}
