package client

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// SizeOf returns how many bytes the value of an object has that is ready, as far as this process knows. Here: the value lies in this
// process's memory and in no store.
func (c *Client) SizeOf(id ids.Object) (size uint64, ready, here bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.table.Find(id)
	if o == nil || !o.State().Ready() {
		return 0, false, false
	}
	return o.Size(), true, o.State() != refs.Stored
}
