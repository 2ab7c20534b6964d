package client

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
)

// Keep ties something to an object that this process owns: release runs once,
// on a goroutine of its own, when nobody holds the object any more or the
// session ends. It is how memory of a device lives as long as the references
// to it in other processes. On an error release does not run.
func (c *Client) Keep(id ids.Object, release func()) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.why
	}
	o := c.table.Find(id)
	if o == nil || !o.Owned() {
		return fault.New(fault.ObjectLost, "object %s is not owned here", id)
	}
	if c.kept == nil {
		c.kept = map[ids.Object]func(){}
	}
	if c.kept[id] != nil {
		return fault.New(fault.BadRequest, "object %s keeps something already", id)
	}
	c.kept[id] = release
	return nil
}

// letGo releases what an object kept; mu held.
func (c *Client) letGo(id ids.Object) {
	if f := c.kept[id]; f != nil {
		delete(c.kept, id)
		go f() // it may wait for a device
	}
}
