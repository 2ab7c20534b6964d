package client

import (
	"strings"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/notice"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// The session's part of telling of failures that nobody has fetched: see package notice.

// startUnfetched chooses how this process reports failures that nobody has fetched, if its
// program has a user and the environment does not forbid it.
func (c *Client) startUnfetched() {
	if _, off := c.setting(strings.TrimPrefix(notice.IgnoreUnfetched, "RAY_")); off {
		return
	}
	var tell func(text string)
	switch {
	case c.opts.Unfetched != nil:
		tell = c.opts.Unfetched
	case c.opts.Role == wire.RoleDriver:
		tell = func(text string) { c.notes.Add(notice.Note{Error: text}) }
	case c.opts.Role == wire.RoleWorker:
		// In a goroutine's own time: a full pipe must not hold the mutex.
		tell = func(text string) { c.stderr.Add(c.labelled(text) + "\n") }
	default: // a Go service tests the error that it gets; a successor's program has ended
		return
	}
	c.unfetched.Start(tell, (*host)(c))
}

// labelled puts the name of the task that runs, or ran last, in front of what a worker says, as its Python half does
// (worker/output.py); mu held. An actor's output has one name, which is written by then.
func (c *Client) labelled(text string) string {
	task, any := c.exec.LastName()
	if !any || c.exec.ActorID() != (ids.Actor{}) || strings.ContainsAny(task, "\r\n") {
		return text
	}
	return "\x1f:name:" + task + "\n" + text
}

// Unseen implements refs.Effects.
func (h *host) Unseen(o *refs.Object) {
	if !h.Closed() && h.unfetched.On() {
		h.unfetched.Unseen(o, h.sites.Maker(o))
	}
}

// Unheld implements submit.Effects.
func (h *host) Unheld(first uint64, name string, f *fault.Error) {
	h.neverFetched(&notice.Failure{First: first, Name: name, Fault: f})
}

// NeverFetched implements submit.Effects.
func (h *host) NeverFetched(first uint64, name string, value []byte, size uint64) {
	h.neverFetched(&notice.Failure{First: first, Name: name, Value: value, Size: size})
}

func (h *host) neverFetched(x *notice.Failure) {
	if !h.Closed() {
		h.unfetched.NeverFetched(x)
	}
}
