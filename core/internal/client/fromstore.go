package client

import "github.com/eagleray/eagleray/core/ids"

// unpinUnused serves TObjLetGo: another process needs the room.
func (c *Client) unpinUnused() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Closed() {
		return
	}
	c.TakeDrops()
	c.local.UnpinUnused()
}

// freedElsewhere serves TObjFreed: the owners let go of these values.
func (c *Client) freedElsewhere(list [][]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Closed() {
		return
	}
	c.TakeDrops() // the program may have let go of one just now
	for _, b := range list {
		if id, err := ids.ParseObject(b); err == nil {
			c.local.ValueFreed(id)
		}
	}
}
