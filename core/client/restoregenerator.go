package client

import (
	"slices"

	"github.com/eagleray/eagleray/core/refs"
)

// restoreStream gives a task of a successor its generator. Only the program that
// called the generator reads its items one by one, and that program has ended. A
// list of the items may still be wanted.
func (c *Client) restoreStream(t *task, x *willTask) {
	s := &stream{gen: t.first, task: t, got: x.Items, left: true, goOn: x.GoOn}
	t.stream = s
	if s.again = x.Again; s.again {
		for _, i := range x.Makes { // several runs may go on at once, each for other items
			if o := c.table.FindOwned(t.first + i); o != nil && o.State() == refs.Pending && !slices.Contains(c.table.Unverified(), o) {
				o.SetSource(t)
			}
		}
		return
	}
	gen := c.table.FindOwned(s.gen)
	if t.tmpl.Flow.Mode == FlowStream {
		c.yields(t)
	}
	if t.tmpl.Flow.Mode == FlowStream || gen == nil {
		s.quit = gen == nil && !s.goOn && t.tmpl.Flow.Mode == FlowStream
		return
	}
	s.left = false
	for i := range s.got {
		if o := c.table.FindOwned(s.gen + 1 + i); o != nil {
			c.table.Pin(o)
		}
	}
}
