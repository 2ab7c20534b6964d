package client

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// wakes sets a successor going that has these objects, and waits until the daemon has heard what the successor says.
func wakes(t *testing.T, c *Client, prepare func()) {
	t.Helper()
	c.mu.Lock()
	prepare()
	(&successor{c: c}).wake()
	c.mu.Unlock()
	if err := c.daemon.Call(t.Context(), wire.TObjStats, nil, nil); err != nil {
		t.Fatal(err)
	}
}

// A successor asks the owner again for the objects that its predecessor has asked for and not got.
func TestSuccessor_Wakes_AsksOwnersAgain(t *testing.T) {
	d := startDaemon(t)
	owner, c := d.driver(), d.driver()
	awaited, known, idle := putBytes(t, owner, 10, 1), putBytes(t, owner, 10, 1), putBytes(t, owner, 10, 1)
	objects := map[ids.Object]*refs.Object{}
	wakes(t, c, func() {
		for _, id := range []ids.Object{awaited, known, idle} {
			objects[id] = c.table.Borrow(id, owner.info.Addr)
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
