package client

import (
	"bytes"

	"github.com/eagleray/eagleray/core/wire"
)

// Functions capture references. A worker keeps the functions that it has run, and
// borrows what they captured, until the process that the function comes from says
// that nobody can call it any more.

// Forget says that the program cannot call a function any more. When the last
// of its tasks has ended the workers let go of the function.
func (c *Client) Forget(fid []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.forgetFunction(fid)
	}
}

// forgetFunction is told that the program cannot call a function any more.
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

// lastEnded lets the workers forget the function of a template when no task of it is left.
func (c *submitter) lastEnded(tm *Template) {
	for _, t := range c.templates() {
		if t.open > 0 && bytes.Equal(t.FID, tm.FID) {
			return
		}
	}
	c.fx.Push(wire.TForget, wire.FunctionRef{FID: tm.FID})
}
