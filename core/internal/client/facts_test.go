package client

import (
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wait"
)

// alter changes what is known of an object, past the table's events: whoever
// waits for the object is not told.
func alter(o *refs.Object, change func(f *refs.Facts)) {
	f := o.Facts()
	change(&f)
	o.Restore(f)
}

// inState puts an object into a state, past the table's events.
func inState(o *refs.Object, s refs.State) { alter(o, func(f *refs.Facts) { f.State = s }) }

// openWaits returns the waits for many objects that are under way; mu held.
func openWaits(c *Client) (list []*wait.Wait) {
	c.table.WaitsOpen(func(w *wait.Wait) { list = append(list, w) })
	return list
}
