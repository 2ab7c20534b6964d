package client

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
)

// A get of a list takes its values one after another, and one that was spilled comes
// back from disk meanwhile: those that follow are asked for with it. They stay pinned
// until they are taken, or until somebody needs the room.

// Bounds of what is asked for ahead.
const (
	aheadObjects = 16
	aheadShare   = 16 // one of so many bytes of the arena
)

// expect notes that a program is about to take these values, in this order; mu held.
// The note is a hint: that of another get may take its place.
func (c *Client) expect(objs []*refs.Object) {
	n := 0
	for _, o := range objs {
		if far(o) {
			n++
		}
	}
	if n < 2 {
		return
	}
	c.expected = make([]ids.Object, 0, n)
	for _, o := range objs {
		if far(o) {
			c.expected = append(c.expected, o.ID)
		}
	}
}

// askAhead asks for what follows a value that is being taken; mu held.
func (c *Client) askAhead(id ids.Object) {
	at := 0
	for at < len(c.expected) && c.expected[at] != id {
		at++
	}
	if at == len(c.expected) {
		return // of another get
	}
	if c.expected = c.expected[at+1:]; len(c.expected) == 0 {
		c.expected = nil
		return
	}
	if c.mapped[id] == nil {
		c.askPlace(id).users-- // first; who takes it joins
	}
	room := c.arena.Size() / aheadShare
	for _, next := range c.expected[:min(aheadObjects, len(c.expected))] {
		o := c.table.Find(next)
		if o == nil || !far(o) {
			continue
		}
		if o.Size() > room {
			return
		}
		room -= o.Size()
		if c.mapped[next] == nil && c.pinnings[next] == nil {
			p := c.askPlace(next)
			p.users--
			p.ahead = true
		}
	}
}

// keepAhead keeps the view of a value that nobody has taken yet; mu held.
func (c *Client) keepAhead(v *view) bool {
	o := c.table.Find(v.id)
	if o == nil || !far(o) || v.freed {
		return false
	}
	c.keepMapped(o, v)
	return true
}
