package client

import (
	"bytes"

	"github.com/eagleray/eagleray/core/wire"
)

// Functions capture references. Workers keep the functions that they have run,
// and are borrowers of what those captured, until the process whose function it
// was says that nobody can call it any more.

// Forget says that the program cannot call a function any more. When the last
// of its tasks has ended the workers let go of it.
func (c *Client) Forget(fid []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.forgetFunction(fid)
	}
}

// forgetFunction: the program cannot call a function any more.
func (c *submitter) forgetFunction(fid []byte) {
	open := false
	for _, t := range c.templates() {
		if bytes.Equal(t.FID, fid) {
			t.Forget = true
			open = open || t.open > 0
		}
	}
	if !open {
		c.fx.Push(wire.TForget, wire.FunctionRef{FID: bytes.Clone(fid)})
	}
}

// lastEnded: no task of a function is left that the program has forgotten; mu held.
func (c *submitter) lastEnded(tm *Template) {
	for _, t := range c.templates() {
		if t.open > 0 && bytes.Equal(t.FID, tm.FID) {
			return
		}
	}
	c.fx.Push(wire.TForget, wire.FunctionRef{FID: tm.FID})
}
